#include "draft/pld_plus/span_copier.h"

#include <algorithm>

#include "draft/copy_confidence.h"

namespace foretoken {

void CopyRule::Visit(OptionFields& fields) {
  fields.Int("k", k, 1, 4096,
             "maximum tokens copied; --draft-max must be as large to use them all");
  fields.Choice("range", prompt_only, {{"whole", false}, {"prompt", true}},
                "text that it copies from: all of it, or only the prompt");
}

Status SpanCopier::Observe(std::span<const Observation> seen) {
  for (const Observation& o : seen) {
    auto& state = static_cast<CopyState&>(o.state);
    for (Token token : o.committed) {
      state.positions[token].push_back(static_cast<int>(state.text.size()));
      state.text.push_back(token);
    }
    state.root = o.next;
    if (o.prompt) state.prompt = static_cast<int>(state.text.size());
    Keep(state, o);
  }
  return {};
}

Status SpanCopier::Propose(std::span<const DraftSlot> batch) {
  for (const DraftSlot& slot : batch) {
    auto& state = static_cast<CopyState&>(slot.state);
    slot.OfferPredicted(rule_.k);
    const auto found = state.positions.find(state.root);
    if (found == state.positions.end()) continue;
    std::span<const int> places = found->second;
    if (rule_.prompt_only) {
      const auto end = std::lower_bound(places.begin(), places.end(), state.prompt);
      places = places.first(static_cast<size_t>(end - places.begin()));
    }
    if (places.empty()) continue;
    FT_ASSIGN_OR_RETURN(const int place, Best(state, places));
    if (place < 0) continue;
    // The copied span may end with the root, which is not in `text` yet.
    const int length = std::min(rule_.k, static_cast<int>(state.text.size()) - place);
    std::vector<Token> span(state.text.begin() + place + 1,
                            std::min(state.text.begin() + place + 1 + length, state.text.end()));
    if (static_cast<int>(span.size()) < length) span.push_back(state.root);
    // The root's token also stands at `place`; CopyConfidence compares the committed text before
    // both.
    slot.builder.OfferRun(0, span, CopyConfidence(state.text, place), place + 1);
  }
  return {};
}

void SpanCopier::Truncate(DraftState& draft_state, int length) {
  auto& state = static_cast<CopyState&>(draft_state);
  while (static_cast<int>(state.text.size()) > length) {
    const auto found = state.positions.find(state.text.back());
    found->second.pop_back();
    if (found->second.empty()) state.positions.erase(found);
    state.text.pop_back();
  }
  state.root = kNoToken;
  state.prompt = std::min(state.prompt, length);
  Drop(state, length);
}

Result<std::unique_ptr<DraftState>> SpanCopier::Fork(const DraftState& draft_state,
                                                     int length) const {
  const auto& from = static_cast<const CopyState&>(draft_state);
  std::unique_ptr<DraftState> fork = NewState();
  auto& to = static_cast<CopyState&>(*fork);
  to.text.assign(from.text.begin(), from.text.begin() + length);
  for (int i = 0; i < length; ++i) to.positions[to.text[static_cast<size_t>(i)]].push_back(i);
  to.prompt = std::min(from.prompt, length);
  CopyRows(from, length, to);
  return fork;
}

size_t SpanCopier::StateBytes(const DraftState& draft_state) const {
  const auto& state = static_cast<const CopyState&>(draft_state);
  constexpr size_t kEntry = sizeof(decltype(state.positions)::value_type);
  return state.text.capacity() * (sizeof(Token) + sizeof(int)) + state.positions.size() * kEntry +
         RowBytes(state);
}

}  // namespace foretoken
