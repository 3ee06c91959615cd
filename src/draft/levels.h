// Level-by-level drafting, and offers from logits, for drafters with a network.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "backend/backend.h"
#include "draft/drafter.h"
#include "verify/sampling.h"

namespace foretoken {

// Adds a row to a batch.
inline void AddRow(RowBatch& batch, Token token, Pos position, Node parent) {
  batch.token.push_back(token);
  batch.position.push_back(position);
  batch.parent.push_back(parent);
}

// Text that an expansion must read first because the drafter has not read it yet.
struct UnreadText {
  int tokens = 0;
  int given = 0;  // tokens of the prompt among them
};

// The nodes of one slot that the next pass expands.
struct DraftLevel {
  size_t slot;              // the slot's index in the batch
  std::vector<Node> nodes;  // not empty; either only the root, or only nodes other than the root
  UnreadText unread = {};
  bool continued = false;  // continues the preceding level, which was too large for one pass
};

// Drafts level by level: takes every builder's frontier and lets `expand` offer continuations,
// until no builder has a frontier left. A call of `expand` gets as many slots as fit in `max_rows`
// rows, counted by `rows_of`; a larger frontier is split over several calls. `may_draft`: whether
// another level is drafted for a slot. `unread`: a slot's unread text, in rows of the expansion
// that reads it. A part of that expansion's time, in proportion to the prompt's share of the
// rows, is recorded as TreeBuilder::reading_seconds. Errors: those of `expand`.
Status DraftByLevels(std::span<const DraftSlot> batch, int max_rows,
                     const std::function<bool(size_t slot)>& may_draft,
                     const std::function<int(const DraftLevel&)>& rows_of,
                     const std::function<Status(std::span<const DraftLevel>)>& expand,
                     const std::function<UnreadText(size_t slot)>& unread = nullptr);

// The tokens that a draft's logits score: column i scores the target's token tokens[i], or token i
// where `tokens` is empty. Other tokens are never guessed.
struct DraftVocabulary {
  std::span<const Token> tokens;  // distinct, below `size`
  int size = 0;                   // size of the target's vocabulary; 0: the number of columns
};

// A node of a slot and the row of logits that predicts what follows it. REQUIRES: the slot's state
// is a TextState.
struct LogitsPlace {
  const DraftSlot* slot;
  Node node;
  int64_t row;
};
// The places of the levels' nodes, in order: the i-th of these nodes, counted from 0, has row i.
std::vector<LogitsPlace> PlacesOf(std::span<const DraftSlot> batch,
                                  std::span<const DraftLevel> levels);

// Turns a network's logits into offers. Holds scratch; one thread at a time.
class LogitsOffers {
 public:
  explicit LogitsOffers(Backend& backend) : backend_(backend) {}

  // Offers, after each place, the tokens that DraftSlot::sampling ranks highest in its row of
  // `logits` [rows, columns of `vocabulary`]; for a verifier that weighs draws, tokens drawn from
  // that row. A row offers nothing if it holds a value that only a faulty network gives: NaN,
  // +infinity, or a finite value beyond +-kMostLogit.
  void Offer(std::span<const LogitsPlace> places, Tensor logits,
             const DraftVocabulary& vocabulary = {});

 private:
  void OfferRow(const LogitsPlace& place, Tensor logits, const DraftVocabulary& vocabulary);

  Backend& backend_;
  std::vector<RankedToken> ranked_;
  std::vector<Scored> offers_;
  std::vector<float> row_, draft_row_;  // a row of logits over the target's vocabulary, and over
                                        // the draft's
};

}  // namespace foretoken
