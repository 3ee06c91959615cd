// What drafters do that have a network of their own: they draft level by level, and offer what the
// network's logits say.
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

// The nodes of one slot that the next pass expands.
struct DraftLevel {
  size_t slot;              // of the batch
  std::vector<Node> nodes;  // not empty; the root alone, or none of them the root
  bool continued = false;   // more of the level before, which was too large for one pass
};

// Asks every builder for its frontier and lets `expand` offer what follows, as many slots a call as
// `rows_of` says fit `most_rows`, until no builder has a frontier left; a frontier of more nodes
// takes several calls. `goes_on`: whether the slot is to be asked for another level. `unread`:
// tokens of a slot's text that its next expansion must read first, if reading is put off. Errors:
// those of `expand`.
Status DraftByLevels(std::span<const DraftSlot> batch, int most_rows,
                     const std::function<bool(size_t slot)>& goes_on,
                     const std::function<int(const DraftLevel&)>& rows_of,
                     const std::function<Status(std::span<const DraftLevel>)>& expand,
                     const std::function<int(size_t slot)>& unread = nullptr);

// Which tokens the logits of a draft are of: column i is the target's tokens[i], or i where
// `tokens` is empty. What the draft lacks is never guessed.
struct DraftVocabulary {
  std::span<const Token> tokens;  // distinct, below `size`
  int size = 0;                   // the target's vocabulary; 0: as many as columns
};

// What follows a node of a slot: row `row` of logits. REQUIRES: the slot's state is a TextState.
struct LogitsPlace {
  const DraftSlot* slot;
  Node node;
  int64_t row;
};
// The levels' nodes in order, a row each.
std::vector<LogitsPlace> PlacesOf(std::span<const DraftSlot> batch,
                                  std::span<const DraftLevel> levels);

// Offers what a network's logits say. Holds scratch; one thread at a time.
class LogitsOffers {
 public:
  explicit LogitsOffers(Backend& backend) : backend_(backend) {}

  // Offers after each place what the target would choose if its row of `logits` [rows, vocab] were
  // the target's: with the same noise, not only the same distribution, unless `share_noise` is
  // false. A verifier that weighs distributions gets a draw from this one instead. Where a number
  // in a row is none that a working network would give (NaN, infinite, huge), nothing is offered.
  void Offer(std::span<const LogitsPlace> places, Tensor logits, bool share_noise,
             const DraftVocabulary& vocabulary = {});

 private:
  void OfferRow(const LogitsPlace& place, Tensor logits, bool share_noise,
                const DraftVocabulary& vocabulary);

  Backend& backend_;
  std::vector<RankedToken> ranked_;
  std::vector<Scored> offers_;
  std::vector<float> row_, own_row_;  // a row of logits, and by the draft's vocabulary
};

}  // namespace foretoken
