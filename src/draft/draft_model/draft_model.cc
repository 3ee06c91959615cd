#include "draft/draft_model/draft_model.h"

#include <algorithm>

#include "draft/trained.h"

namespace foretoken {
namespace {

CausalShape ShapeFor(const LoadedDraft& draft, int target_vocab, int capacity) {
  const Model& model = *draft.model;
  const ModelConfig& config = model.config();
  return {.vocab = std::min(config.vocab, target_vocab),
          .target_vocab = target_vocab,
          .scored = draft.tokens.tokens,
          .context = config.context,
          .capacity = capacity,
          .max_rows = model.max_rows()};
}

}  // namespace

DraftModel::DraftModel(LoadedDraft draft, int target_vocab, int capacity,
                       const DraftModelRule& rule)
    : CausalDrafter(draft.model->backend(), ShapeFor(draft, target_vocab, capacity),
                    {.gamma = rule.gamma,
                     .bounds_trees = rule.gamma_given || rule.heuristic,
                     .cache_type = rule.cache_type}),
      file_(std::move(draft.file)),
      model_(std::move(draft.model)),
      heuristic_(rule.heuristic),
      acceptance_(draft.acceptance) {}

std::unique_ptr<DraftState> DraftModel::NewState() const {
  auto state = std::make_unique<State>();
  state->cache = model_->NewCache(usual_tokens(), rule().cache_type);
  state->gamma = rule().gamma;
  return state;
}

DraftPrior DraftModel::Prior() const {
  DraftPrior prior{.level_bytes = model_->weight_bytes()};
  if (acceptance_ > 0) prior.acceptance = {acceptance_};
  if (file_) {
    const auto columns = static_cast<int>(model_->OutputHead().rows());
    prior.identity = DraftIdentity(*file_, "draft-model", columns);
  }
  return prior;
}

Result<Tensor> DraftModel::Forward(const RowBatch& batch, std::span<State* const> states) {
  std::vector<KvCache*> caches;
  caches.reserve(states.size());
  for (const State* state : states) caches.push_back(state->cache.get());
  return model_->Forward(batch, caches, {}, {});
}

void DraftModel::Learn(State& state, const Observation& seen) {
  if (seen.prompt) state.gamma = rule().gamma;
  const int drafted = seen.tree.max_depth(), accepted = static_cast<int>(seen.path.size()) - 1;
  if (seen.prompt || !heuristic_ || drafted == 0) return;
  state.gamma = accepted == drafted ? state.gamma + 2 : std::max(1, state.gamma - 1);
}

}  // namespace foretoken
