// PLD+ (P-12, P-16): of the earlier positions of the root's token, picks one by the target's
// internal states and copies the span after it.
#pragma once

#include <span>
#include <unordered_map>
#include <vector>

#include "draft/drafter.h"
#include "draft/options.h"

namespace foretoken {

struct CopyRule {
  int k = 70;                // maximum tokens copied
  bool prompt_only = false;  // search the prompt only
  void Visit(OptionFields& fields);
};

// The state common to both rankings, PLD+(h) and PLD+(a).
struct CopyState : DraftState {
  std::vector<Token> text;  // committed tokens
  Token root = kNoToken;
  int prompt = 0;  // tokens of the prompt
  // The positions of each token in `text`, ascending.
  std::unordered_map<Token, std::vector<int>> positions;
};

class SpanCopier : public Drafter {
 public:
  explicit SpanCopier(CopyRule rule) : rule_(rule) {}

  Status Observe(std::span<const Observation> seen) final;
  Status Propose(std::span<const DraftSlot> batch) final;
  void Truncate(DraftState& state, int length) final;
  Result<std::unique_ptr<DraftState>> Fork(const DraftState& state, int length) const final;
  size_t StateBytes(const DraftState& state) const final;

 protected:
  // Stores what the ranking needs from the rows just committed; `state` already holds their tokens.
  virtual void Keep(CopyState& state, const Observation& seen) = 0;
  // Drops the rows from `length` on.
  virtual void Drop(CopyState& state, int length) = 0;
  // Copies the first `length` of the rows that `from` keeps for the ranking into the new state
  // `to`.
  virtual void CopyRows(const CopyState& from, int length, CopyState& to) const = 0;
  // Bytes of the rows kept for the ranking.
  virtual size_t RowBytes(const CopyState& state) const = 0;
  // The best of `places`, or -1 if none is good enough; among equals, the lowest. `places`: earlier
  // positions of the root's token, ascending, not empty. Errors: out of memory.
  virtual Result<int> Best(CopyState& state, std::span<const int> places) = 0;

 private:
  CopyRule rule_;
};

}  // namespace foretoken
