#include "draft/feature_drafter.h"

#include <algorithm>
#include <numeric>

#include "draft/scratch.h"

namespace foretoken {

Status FeatureNet::Fuse(std::span<const Tensor> taps, std::span<const Node> rows, Tensor to) {
  FT_CHECK(taps.size() == 1);
  backend().Gather(taps[0], rows, to);
  return {};
}

Result<Tensor> FeatureNet::ForwardForLast(const RowBatch& batch, std::span<KvCache* const> caches) {
  FT_ASSIGN_OR_RETURN(const Tensor outputs, Forward(batch, caches));
  if (outputs.empty()) return outputs;
  std::vector<int> last;
  for (size_t s = 0; s < caches.size(); ++s) last.push_back(batch.begin[s + 1] - 1);
  const Tensor kept = outputs.Rows(0, std::ssize(last));
  backend().Gather(outputs, last, kept);
  return kept;
}

TapSpec FeatureDrafter::Needs() const { return {.hidden = content_.taps}; }

void FeatureDrafter::Prepare(State& state) const {
  state.cache = net_.NewCache(capacity_, cache_type_);
  state.has_features = !content_.taps.empty();
  state.cache_rows = net_.cache_rows();
}

int FeatureDrafter::State::AddNode(const CandidateTree& tree, Node node, Pos position,
                                   RowBatch& batch) {
  row_of_node.resize(static_cast<size_t>(tree.size()), kNoNode);
  const Node parent = tree.parent(node);
  const int parent_row = parent == kNoNode ? kNoNode : row_of_node[static_cast<size_t>(parent)];
  row_of_node[static_cast<size_t>(node)] = cache->provisional() + batch.rows() - batch.begin.back();
  AddRow(batch, tree.token(node), position, parent_row);
  return parent_row;
}

std::unique_ptr<DraftState> FeatureDrafter::NewState() const {
  auto state = std::make_unique<State>();
  Prepare(*state);
  return state;
}

Status FeatureDrafter::Observe(std::span<const Observation> seen) {
  for (const Observation& o : seen) {
    auto& state = static_cast<State&>(o.state);
    const bool features_reach_end = !content_.taps.empty() && state.observed == state.committed;
    if (features_reach_end && o.may_read) FT_RETURN_IF_ERROR(KeepFeatures(o, state));
    state.Append(o);  // cache rows are computed only when the sequence next drafts
    if (features_reach_end && !o.may_read && state.observed == state.skipped) {
      state.skipped = state.observed = state.committed;
    }
  }
  return {};
}

Status FeatureDrafter::KeepFeatures(const Observation& o, State& state) {
  if (o.path.empty()) return {};
  std::vector<Tensor> taps;
  taps.reserve(content_.taps.size());
  for (const int index : content_.taps) taps.push_back(o.taps.Hidden(index));
  const int64_t first = state.committed - state.skipped, count = std::ssize(o.path);
  FT_RETURN_IF_ERROR(GrowRows(net_.backend(), first + count, net_.hidden(), first, state.features));
  FT_RETURN_IF_ERROR(net_.Fuse(taps, o.path, state.features.tensor.Rows(first, count)));
  state.observed += static_cast<int>(count);
  return {};
}

int FeatureDrafter::RowsOf(const State& state, int length) const {
  const int kept = std::min(state.tokens_with_rows(), std::max(0, length - content_.ahead));
  return std::max(0, kept - state.skipped) * state.cache_rows;
}

void FeatureDrafter::Truncate(DraftState& draft_state, int length) {
  auto& state = static_cast<State&>(draft_state);
  state.cache->Truncate(RowsOf(state, length));
  state.TextState::Truncate(length);
  state.observed = std::min(state.observed, length);
  state.skipped = std::min(state.skipped, length);
}

// State::root, the output of the last row, is not copied: the next draft computes at least one row
// before it expands the root, and Finish then stores that row's output.
Result<std::unique_ptr<DraftState>> FeatureDrafter::Fork(const DraftState& draft_state,
                                                         int length) const {
  const auto& from = static_cast<const State&>(draft_state);
  std::unique_ptr<DraftState> fork = NewState();
  auto& to = static_cast<State&>(*fork);
  to.CopyText(from, length);
  to.observed = std::min(from.observed, length);
  to.skipped = std::min(from.skipped, length);
  FT_ASSIGN_OR_RETURN(to.cache, from.cache->Fork(RowsOf(from, length)));
  const int held = to.observed - to.skipped;
  if (held == 0) return fork;
  FT_RETURN_IF_ERROR(GrowRows(net_.backend(), held, net_.hidden(), 0, to.features));
  net_.backend().StoreRows(from.Features(to.skipped, held), to.Features(to.skipped, held));
  return fork;
}

size_t FeatureDrafter::StateBytes(const DraftState& draft_state) const {
  const auto& state = static_cast<const State&>(draft_state);
  return state.TextBytes() + state.cache->bytes_share() + BytesOf(state.features) +
         BytesOf(state.root);
}

Status FeatureDrafter::DraftLevels(
    std::span<const DraftSlot> batch,
    const std::function<Status(std::span<const DraftLevel>)>& expand) {
  for (const DraftSlot& slot : batch) StateOf(slot).cache->Commit({});
  return DraftByLevels(
      batch, net_.max_rows(), [&](size_t slot) { return StateOf(batch[slot]).can_draft(); },
      [](const DraftLevel& level) { return static_cast<int>(level.nodes.size()); },
      [&](std::span<const DraftLevel> levels) -> Status {
        FT_RETURN_IF_ERROR(CatchUp(batch, levels));
        return expand(levels);
      },
      [batch](size_t slot) {
        const State& state = StateOf(batch[slot]);
        return UnreadText{state.unread(), std::max(0, state.prompt - state.tokens_with_rows())};
      });
}

Status FeatureDrafter::CatchUp(std::span<const DraftSlot> batch,
                               std::span<const DraftLevel> levels) {
  std::vector<State*> states;
  for (const DraftLevel& level : levels) {
    if (level.nodes[0] == 0) states.push_back(&static_cast<State&>(batch[level.slot].state));
  }
  while (true) {
    std::vector<Run> runs;
    int room = net_.max_rows();
    for (State* state : states) {
      const int count = std::min(state->unread(), room);
      if (count > 0) runs.push_back({state, state->tokens_with_rows(), count});
      room -= count;
    }
    if (runs.empty()) return {};
    FT_RETURN_IF_ERROR(Feed(runs));
  }
}

Status FeatureDrafter::Feed(std::span<const Run> runs) {
  int rows = 0;
  for (const Run& run : runs) rows += run.count;
  const bool has_features = !content_.taps.empty();
  Tensor features;
  if (has_features) {
    FT_ASSIGN_OR_RETURN(features, net_.Features(rows));
  }
  RowBatch batch;
  std::vector<KvCache*> caches;
  for (const auto& [state, first, count] : runs) {
    if (has_features) {
      net_.backend().StoreRows(state->Features(first, count), features.Rows(batch.rows(), count));
    }
    for (int i = 0; i < count; ++i) {
      const int row = first + i, token_index = row + content_.ahead;
      AddRow(batch, state->text[static_cast<size_t>(token_index)], row, i - 1);
    }
    batch.begin.push_back(batch.rows());
    caches.push_back(state->cache.get());
  }
  FT_ASSIGN_OR_RETURN(const Tensor outputs, net_.ForwardForLast(batch, caches));
  for (size_t r = 0; r < runs.size(); ++r) {
    const auto row = static_cast<int64_t>(r);
    FT_RETURN_IF_ERROR(Finish(*runs[r].state, outputs.empty() ? Tensor{} : outputs.Rows(row, 1)));
  }
  return {};
}

Status FeatureDrafter::Finish(State& state, Tensor root_output) {
  std::vector<Node> path(static_cast<size_t>(state.cache->provisional()));
  std::iota(path.begin(), path.end(), 0);
  state.cache->Commit(path);
  if (root_output.empty()) return {};
  FT_ASSIGN_OR_RETURN(const Tensor to, ReserveRows(net_.backend(), 1, net_.hidden(), state.root));
  net_.backend().StoreRows(root_output, to);
  return {};
}

}  // namespace foretoken
