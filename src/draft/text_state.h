// The text of one sequence, kept by drafters that look something up in it.
#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "draft/drafter.h"

namespace foretoken {

struct TextState : DraftState {
  std::vector<Token> text;  // committed tokens, then the root
  int committed = 0;
  int prompt = 0;  // tokens of the prompt

  void Append(const Observation& seen) {
    text.resize(static_cast<size_t>(committed));  // the root is now seen.committed[0]
    text.insert(text.end(), seen.committed.begin(), seen.committed.end());
    committed = static_cast<int>(text.size());
    if (seen.prompt) prompt = committed;
    text.push_back(seen.next);
  }

  void Truncate(int length) {
    text.resize(static_cast<size_t>(length));
    committed = length;
    prompt = std::min(prompt, length);
  }

  // Takes over the first `length` committed tokens of `from`.
  void CopyText(const TextState& from, int length) {
    text.assign(from.text.begin(), from.text.begin() + length);
    committed = length;
    prompt = std::min(from.prompt, length);
  }

  size_t TextBytes() const { return text.capacity() * sizeof(Token); }
};

// Base class of drafters whose proposals depend only on a sequence's text. Subclasses define Offer.
class TextDrafter : public Drafter {
 public:
  TapSpec Needs() const final { return {}; }
  std::unique_ptr<DraftState> NewState() const final { return std::make_unique<TextState>(); }
  Status Observe(std::span<const Observation> seen) final {
    for (const Observation& o : seen) static_cast<TextState&>(o.state).Append(o);
    return {};
  }
  Status Propose(std::span<const DraftSlot> batch) final {
    for (const DraftSlot& slot : batch) {
      slot.OfferPredicted(MostCopied());
      Offer(static_cast<const TextState&>(slot.state).text, slot.builder);
    }
    return {};
  }
  void Truncate(DraftState& state, int length) final {
    static_cast<TextState&>(state).Truncate(length);
  }
  Result<std::unique_ptr<DraftState>> Fork(const DraftState& state, int length) const final {
    auto fork = std::make_unique<TextState>();
    fork->CopyText(static_cast<const TextState&>(state), length);
    return std::unique_ptr<DraftState>(std::move(fork));
  }
  size_t StateBytes(const DraftState& state) const final {
    return static_cast<const TextState&>(state).TextBytes();
  }

 private:
  // Maximum number of predicted tokens offered before Offer is called; 0: the drafter does not
  // copy.
  virtual int MostCopied() const { return 0; }
  // Offers what may follow `text`, which ends in the root.
  virtual void Offer(std::span<const Token> text, TreeBuilder& builder) = 0;
};

}  // namespace foretoken
