#include "draft/glide/glide.h"

namespace foretoken {
namespace {

CausalShape ShapeOf(const GlideNet& net, int capacity) {
  // With several layers, a guess's keys and values in the upper layers depend on the target rows
  // that the lower layers could attend to. They are computed again once the target has accepted the
  // guess (G-18).
  const DraftVocabulary scored = net.vocabulary();
  return {.vocab = net.config().vocab,
          .target_vocab = net.config().vocab,
          .scored = {scored.tokens.begin(), scored.tokens.end()},
          .context = net.config().context,
          .capacity = capacity,
          .max_rows = net.max_rows(),
          .keeps_guesses = net.config().layers == 1 || net.kv_layers().empty()};
}

}  // namespace

Glide::Glide(std::unique_ptr<GlideNet> net, int capacity, const CausalRule& rule)
    : CausalDrafter(net->backend(), ShapeOf(*net, capacity), rule), net_(std::move(net)) {}

std::unique_ptr<DraftState> Glide::NewState() const {
  auto state = std::make_unique<GlideState>();
  state->cache = net_->NewCache(usual_tokens(), rule().cache_type);
  state->gamma = rule().gamma;
  return state;
}

void Glide::Learn(State& state, const Observation& seen) {
  Glimpse& target = static_cast<GlideState&>(state).target;
  target.layers.clear();
  for (const int layer : net_->kv_layers()) {
    target.layers.push_back({seen.taps.Keys(layer), seen.taps.Values(layer)});
  }
}

Result<Tensor> Glide::Forward(const RowBatch& batch, std::span<State* const> states) {
  std::vector<KvCache*> caches;
  std::vector<const Glimpse*> glimpses;
  caches.reserve(states.size());
  glimpses.reserve(states.size());
  for (State* state : states) {
    Glimpse& target = static_cast<GlideState*>(state)->target;
    target.rows = state->committed;
    caches.push_back(state->cache.get());
    glimpses.push_back(&target);
  }
  return net_->Forward(batch, caches, glimpses);
}

}  // namespace foretoken
