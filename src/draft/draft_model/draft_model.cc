#include "draft/draft_model/draft_model.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "draft/levels.h"

namespace foretoken {
namespace {

constexpr int kRoomForDrafts = 256;  // rows of a cache beyond the longest text

}  // namespace

DraftModel::DraftModel(LoadedDraft draft, int target_vocab, int capacity,
                       const DraftModelRule& rule)
    : file_(std::move(draft.file)),
      model_(std::move(draft.model)),
      vocab_(std::min(model_->config().vocab, target_vocab)),
      target_vocab_(target_vocab),
      capacity_(std::min(capacity, model_->config().context) + kRoomForDrafts),
      rule_(rule) {}

std::unique_ptr<DraftState> DraftModel::NewState() const {
  auto state = std::make_unique<State>();
  state->cache = model_->NewCache(capacity_, rule_.cache_type);
  state->gamma = rule_.gamma;
  return state;
}

const KvCache& DraftModel::cache(const DraftState& state) const {
  return *static_cast<const State&>(state).cache;
}

// A padded id that only the target has: any token does, what is drafted after it is wrong anyway.
Token DraftModel::Known(Token token) const { return token < model_->config().vocab ? token : 0; }

void DraftModel::Forget(State& state) const {
  state.cache->Commit({});
  state.rows.clear();
}

void DraftModel::Observe(std::span<const Observation> seen) {
  for (const Observation& o : seen) {
    auto& state = static_cast<State&>(o.state);
    if (o.prompt) {
      Forget(state);
      state.Append(o);
      state.gamma = rule_.gamma;  // the text is fed by the first draft: there may never be one
    } else {
      Commit(state, o);
      state.Append(o);
    }
  }
}

// Keeps the rows of what the target accepted.
void DraftModel::Commit(State& state, const Observation& seen) const {
  std::vector<Node> path;
  int row = kNoNode;
  const auto child = [&state](int parent, Token token) {
    for (int r = parent + 1; r < static_cast<int>(state.rows.size()); ++r) {
      if (state.rows[r].parent == parent && state.rows[r].token == token) return r;
    }
    return kNoNode;
  };
  // The text that the last draft fed, then the nodes below the root, which ends it.
  const auto fed = std::span(state.text).subspan(static_cast<size_t>(state.cache->length()));
  for (const std::span<const Token> tokens :
       {std::span<const Token>(fed), seen.committed.subspan(1)}) {
    for (const Token token : tokens) {
      row = child(row, token);
      if (row == kNoNode) break;
      path.push_back(row);
    }
    if (row == kNoNode) break;
  }
  state.cache->Commit(path);
  state.rows.clear();
  const int drafted = seen.tree.max_depth(), accepted = static_cast<int>(seen.path.size()) - 1;
  if (rule_.heuristic && drafted > 0) {
    state.gamma = accepted == drafted ? state.gamma + 2 : std::max(1, state.gamma - 1);
  }
}

void DraftModel::Truncate(DraftState& draft_state, int length) {
  auto& state = static_cast<State&>(draft_state);
  Forget(state);
  state.Truncate(length);
  state.cache->Truncate(std::min(length, state.cache->length()));
}

// Feeds the text up to `end`, as far as the model's positions go.
void DraftModel::CatchUp(State& state, int end) {
  end = std::min(end, model_->config().context);
  KvCache* const caches[] = {state.cache.get()};
  while (state.cache->length() < end) {
    const int begin = state.cache->length();
    const int count = std::min(end - begin, model_->max_rows());
    const auto fed = std::span(state.text).subspan(static_cast<size_t>(begin));
    RowBatch batch;
    for (int i = 0; i < count; ++i) {
      AddRow(batch, Known(fed[static_cast<size_t>(i)]), begin + i, i - 1);
    }
    batch.begin.push_back(count);
    model_->Forward(batch, caches, {}, {});
    std::vector<Node> path(static_cast<size_t>(count));
    std::iota(path.begin(), path.end(), 0);
    state.cache->Commit(path);
  }
}

// How deep a draft may be: the schedule is for chains, a tree that branches knows its own depth.
int DraftModel::Depth(const State& state, const TreeBuilder& builder) const {
  const int left = model_->config().context - static_cast<int>(state.text.size()) + 1;
  const int depth = std::min(builder.limits().max_depth, std::max(left, 0));
  const bool scheduled = rule_.gamma_given || rule_.heuristic || builder.width() == 1;
  return scheduled ? std::min(depth, state.gamma) : depth;
}

void DraftModel::Propose(std::span<const DraftSlot> batch) {
  std::vector<std::vector<int>> rows_of(batch.size());
  for (const DraftSlot& slot : batch) Forget(static_cast<State&>(slot.state));
  for (int depth = 0;; ++depth) {
    std::vector<Level> levels;
    for (size_t s = 0; s < batch.size(); ++s) {
      auto& state = static_cast<State&>(batch[s].state);
      if (depth >= Depth(state, batch[s].builder)) continue;
      Level level{&batch[s], &state, batch[s].builder.TakeFrontier(), &rows_of[s]};
      if (depth == 0 && !level.nodes.empty()) {
        const int pending = static_cast<int>(state.text.size()) - state.cache->length();
        const int fair = model_->max_rows() / static_cast<int>(batch.size());
        if (pending > fair) CatchUp(state, state.committed);
      }
      const int room = state.cache->capacity() - state.cache->length() - state.cache->provisional();
      const int most = std::min(room, model_->max_rows());
      if (std::ssize(level.nodes) > most) level.nodes.resize(static_cast<size_t>(most));
      if (!level.nodes.empty()) levels.push_back(std::move(level));
    }
    if (levels.empty()) return;
    Expand(levels);
  }
}

int DraftModel::RowsOf(const Level& level) const {
  if (level.nodes[0] != 0) return static_cast<int>(level.nodes.size());
  return static_cast<int>(level.state->text.size()) - level.state->cache->length();
}

// As many slots a pass as it has rows for.
void DraftModel::Expand(std::span<Level> levels) {
  while (!levels.empty()) {
    size_t count = 0;
    for (int rows = 0; count < levels.size(); ++count) {
      rows += RowsOf(levels[count]);
      if (count > 0 && rows > model_->max_rows()) break;
    }
    ExpandTogether(levels.first(count));
    levels = levels.subspan(count);
  }
}

// The rows of every level's nodes. The root brings along the text that the cache lacks.
RowBatch DraftModel::LayOut(std::span<Level> levels) const {
  RowBatch batch;
  for (const Level& level : levels) {
    State& state = *level.state;
    const TreeBuilder& builder = level.slot->builder;
    const auto add = [&](Token token, Pos position, Node parent) {
      AddRow(batch, Known(token), position, parent);
      state.rows.push_back({token, parent});
      return static_cast<int>(state.rows.size()) - 1;
    };
    for (const Node node : level.nodes) {
      int row = kNoNode;
      if (node == 0) {
        for (Pos at = state.cache->length(); at < std::ssize(state.text); ++at) {
          row = add(state.text[static_cast<size_t>(at)], at, row);
        }
      } else {
        const Pos position = static_cast<Pos>(state.text.size()) - 1 + builder.tree().depth(node);
        const int parent = (*level.row_of)[static_cast<size_t>(builder.tree().parent(node))];
        row = add(builder.tree().token(node), position, parent);
      }
      batch.logit_rows.push_back(batch.rows() - 1);
      level.row_of->resize(static_cast<size_t>(builder.tree().size()), kNoNode);
      (*level.row_of)[static_cast<size_t>(node)] = row;
    }
    batch.begin.push_back(batch.rows());
  }
  return batch;
}

void DraftModel::ExpandTogether(std::span<Level> levels) {
  const RowBatch batch = LayOut(levels);
  std::vector<KvCache*> caches;
  caches.reserve(levels.size());
  for (const Level& level : levels) caches.push_back(level.state->cache.get());
  const Tensor logits = model_->Forward(batch, caches, {}, {});
  std::vector<float> row(static_cast<size_t>(std::max<int64_t>(logits.cols, target_vocab_)));
  int at = 0;
  for (const Level& level : levels) {
    Sampler sampler(level.slot->sampling);
    for (const Node node : level.nodes) {
      model_->backend().Download(logits.Rows(at++, 1), row.data());
      const auto known = std::span(row).first(static_cast<size_t>(target_vocab_));
      std::fill(known.begin() + vocab_, known.end(), -HUGE_VALF);  // ids that this model lacks
      OfferFromLogits(*level.slot, node, level.state->text, known, sampler);
    }
  }
}

}  // namespace foretoken
