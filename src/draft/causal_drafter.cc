#include "draft/causal_drafter.h"

#include <algorithm>
#include <numeric>

namespace foretoken {

void CausalDrafter::Forget(State& state) {
  state.cache->Commit({});
  state.rows.clear();
  state.node_row.clear();
  state.levels = 0;
}

Status CausalDrafter::Observe(std::span<const Observation> seen) {
  for (const Observation& o : seen) {
    auto& state = static_cast<State&>(o.state);
    Learn(state, o);
    // A prompt is fed by the first draft, if there is one.
    if (!o.prompt) Commit(state, o);
    Forget(state);
    state.Append(o);
  }
  return {};
}

// Commits the provisional rows of the tokens that the target accepted.
void CausalDrafter::Commit(State& state, const Observation& seen) const {
  std::vector<Node> path;
  int row = kNoNode;
  const auto child = [&state](int parent, Token token) {
    for (int r = parent + 1; r < static_cast<int>(state.rows.size()); ++r) {
      if (state.rows[r].parent == parent && state.rows[r].token == token) return r;
    }
    return kNoNode;
  };
  const auto follow = [&](std::span<const Token> tokens) {
    for (const Token token : tokens) {
      row = child(row, token);
      if (row == kNoNode) return false;
      path.push_back(row);
    }
    return true;
  };
  // First the text that the last draft fed, root included, then the accepted nodes.
  const auto fed = std::span(state.text).subspan(static_cast<size_t>(state.consumed()));
  if (follow(fed) && shape_.keeps_guesses) follow(seen.committed.subspan(1));
  state.cache->Commit(path);
}

void CausalDrafter::Truncate(DraftState& draft_state, int length) {
  auto& state = static_cast<State&>(draft_state);
  Forget(state);
  state.TextState::Truncate(length);
  state.skipped = std::min(state.skipped, length);
  state.cache->Truncate(std::min(length - state.skipped, state.cache->length()));
}

// A cache that leaves out the beginning of the text is not copied: the next draft decides where to
// begin and reads what it needs.
Result<std::unique_ptr<DraftState>> CausalDrafter::Fork(const DraftState& draft_state,
                                                        int length) const {
  const auto& from = static_cast<const State&>(draft_state);
  std::unique_ptr<DraftState> fork = NewState();
  auto& to = static_cast<State&>(*fork);
  to.CopyText(from, length);
  if (from.skipped > 0) return fork;
  FT_ASSIGN_OR_RETURN(to.cache, from.cache->Fork(std::min(length, from.cache->length())));
  return fork;
}

size_t CausalDrafter::StateBytes(const DraftState& draft_state) const {
  const auto& state = static_cast<const State&>(draft_state);
  return state.TextBytes() + state.cache->bytes_share();
}

// Decides how many tokens at the beginning of the text the next draft leaves out. Once much more of
// the text is worth reading, reading starts over at an earlier token. The decision is made
// for every draft, but rows are kept until a draft expands its root.
void CausalDrafter::ChooseBeginning(State& state, const TreeBuilder& builder) {
  constexpr int kRestartFactor = 2;  // reading starts over for this many times the tokens held
  constexpr int kFewestTokens = 16;  // guesses from less context say little about the draft
  const int all = static_cast<int>(state.text.size()), held = all - state.skipped;
  const bool has_read = state.cache->length() > 0;
  state.to_skip = state.skipped;
  if (has_read && state.skipped == 0) return;
  const int count = std::clamp(builder.TokensToRead(all), std::min(kFewestTokens, all), all);
  if (!has_read) {
    state.skipped = state.to_skip = all - count;
  } else if (count >= kRestartFactor * held) {
    state.to_skip = all - count;
  }
}

void CausalDrafter::Begin(State& state) {
  if (state.to_skip < state.skipped) state.cache->Truncate(0);
  state.skipped = state.to_skip;
}

// Feeds the committed text up to the end of the network's context.
Status CausalDrafter::CatchUp(State& state) {
  const int end = std::min(state.committed, shape_.context);
  State* const states[] = {&state};
  while (state.consumed() < end) {
    const int begin = state.consumed();
    const int count = std::min(end - begin, shape_.max_rows);
    const auto fed = std::span(state.text).subspan(static_cast<size_t>(begin));
    RowBatch batch;
    for (int i = 0; i < count; ++i) {
      AddRow(batch, Known(fed[static_cast<size_t>(i)]), begin + i, i - 1);
    }
    batch.begin.push_back(count);
    FT_RETURN_IF_ERROR(Forward(batch, states));
    std::vector<Node> path(static_cast<size_t>(count));
    std::iota(path.begin(), path.end(), 0);
    state.cache->Commit(path);
  }
  return {};
}

// Maximum depth of a draft. gamma bounds chains, and branching trees only if rule_.bounds_trees is
// set.
int CausalDrafter::Depth(const State& state, const TreeBuilder& builder) const {
  const int left = shape_.context - static_cast<int>(state.text.size()) + 1;
  const int depth = std::min(builder.limits().max_depth, std::max(left, 0));
  return rule_.bounds_trees || builder.width() == 1 ? std::min(depth, state.gamma) : depth;
}

Status CausalDrafter::Propose(std::span<const DraftSlot> batch) {
  for (const DraftSlot& slot : batch) {
    Forget(StateOf(slot));
    ChooseBeginning(StateOf(slot), slot.builder);
  }
  // Rows of unread text that the expansion of one root may add to a pass. Longer text is fed by
  // CatchUp first.
  const int fair_share = shape_.max_rows / static_cast<int>(batch.size());
  return DraftByLevels(
      batch, shape_.max_rows,
      [&](size_t slot) {
        const State& state = StateOf(batch[slot]);
        return state.levels < Depth(state, batch[slot].builder);
      },
      [&](const DraftLevel& level) {
        if (level.nodes[0] != 0) return static_cast<int>(level.nodes.size());
        const int unread = StateOf(batch[level.slot]).unread();
        return unread > fair_share ? 1 : unread;
      },
      [&](std::span<const DraftLevel> levels) -> Status {
        for (const DraftLevel& level : levels) {
          if (level.nodes[0] != 0) continue;
          State& state = StateOf(batch[level.slot]);
          Begin(state);
          if (state.unread() > fair_share) FT_RETURN_IF_ERROR(CatchUp(state));
        }
        return Expand(batch, levels);
      },
      [&](size_t slot) {
        const State& state = StateOf(batch[slot]);
        if (state.levels > 0) return UnreadText{};
        const int unread = state.unread(), answer = std::ssize(state.text) - state.prompt;
        return UnreadText{unread, std::max(0, unread - answer)};
      });
}

// Lays out the rows of all levels' nodes. A root is preceded by the text that its cache lacks.
RowBatch CausalDrafter::LayOut(std::span<const DraftSlot> batch,
                               std::span<const DraftLevel> levels) const {
  RowBatch rows;
  for (const DraftLevel& level : levels) {
    State& state = StateOf(batch[level.slot]);
    const CandidateTree& tree = batch[level.slot].builder.tree();
    const auto add = [&](Token token, Pos position, Node parent) {
      AddRow(rows, Known(token), position, parent);
      state.rows.push_back({token, parent});
      return static_cast<int>(state.rows.size()) - 1;
    };
    state.node_row.resize(static_cast<size_t>(tree.size()), kNoNode);
    for (const Node node : level.nodes) {
      int row = kNoNode;
      if (node == 0) {
        for (Pos at = state.consumed(); at < std::ssize(state.text); ++at) {
          row = add(state.text[static_cast<size_t>(at)], at, row);
        }
      } else {
        row = add(tree.token(node), state.committed + tree.depth(node),
                  state.node_row[static_cast<size_t>(tree.parent(node))]);
      }
      rows.logit_rows.push_back(rows.rows() - 1);
      state.node_row[static_cast<size_t>(node)] = row;
    }
    if (!level.continued) ++state.levels;
    rows.begin.push_back(rows.rows());
  }
  return rows;
}

Status CausalDrafter::Expand(std::span<const DraftSlot> batch, std::span<const DraftLevel> levels) {
  const RowBatch rows = LayOut(batch, levels);
  std::vector<State*> states;
  states.reserve(levels.size());
  for (const DraftLevel& level : levels) states.push_back(&StateOf(batch[level.slot]));
  FT_ASSIGN_OR_RETURN(const Tensor logits, Forward(rows, states));
  const Tensor known = shape_.scored.empty() ? logits.Cols(0, shape_.vocab) : logits;
  offers_.Offer(PlacesOf(batch, levels), known,
                {.tokens = shape_.scored, .size = shape_.target_vocab});
  return {};
}

}  // namespace foretoken
