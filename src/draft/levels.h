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

// What an expansion must read of its text first, if reading was put off.
struct UnreadText {
  int tokens = 0;
  int given = 0;  // of those, tokens of the prompt
};

// The nodes of one slot that the next pass expands.
struct DraftLevel {
  size_t slot;              // of the batch
  std::vector<Node> nodes;  // not empty; the root alone, or none of them the root
  UnreadText unread = {};
  bool continued = false;  // more of the level before, which was too large for one pass
};

// Asks every builder for its frontier and lets `expand` offer what follows, as many slots a call as
// `rows_of` says fit `most_rows`, until no builder has a frontier left; a frontier of more nodes
// takes several calls. `goes_on`: whether the slot is to be asked for another level. `unread`: of a
// slot's text, counted in rows of the expansion that reads them; the prompt's share of its time is
// booked as such (TreeBuilder::reading_seconds). Errors: those of `expand`.
Status DraftByLevels(std::span<const DraftSlot> batch, int most_rows,
                     const std::function<bool(size_t slot)>& goes_on,
                     const std::function<int(const DraftLevel&)>& rows_of,
                     const std::function<Status(std::span<const DraftLevel>)>& expand,
                     const std::function<UnreadText(size_t slot)>& unread = nullptr);

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

  // Offers after each place what DraftSlot::sampling would choose from its row of `logits`
  // [rows, columns of `vocabulary`], or draws from that row for a verifier that weighs draws.
  // Offers nothing where a row holds a value that no working network gives (NaN, infinite, huge).
  void Offer(std::span<const LogitsPlace> places, Tensor logits,
             const DraftVocabulary& vocabulary = {});

 private:
  void OfferRow(const LogitsPlace& place, Tensor logits, const DraftVocabulary& vocabulary);

  Backend& backend_;
  std::vector<RankedToken> ranked_;
  std::vector<Scored> offers_;
  std::vector<float> row_, own_row_;  // a row of logits, and by the draft's vocabulary
};

}  // namespace foretoken
