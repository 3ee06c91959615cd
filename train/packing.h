// The order in which a corpus is seen, and how documents share sequences. A pure function of the
// seed and the counter: no generator state, so a resumed run continues exactly.
#pragma once

#include <cstdint>
#include <vector>

#include "corpus.h"

namespace foretoken::train {

// Tokens [first, first + count] of the corpus: `count` inputs and, one later, their targets.
struct Piece {
  int64_t first = 0;
  int32_t count = 0;
};
using Sequence = std::vector<Piece>;  // pieces in order, together at most `length` inputs

// Whole documents are put together best-fit, so that few are cut; longer ones than a sequence are
// cut into pieces. Pieces without a token to learn are left out.
class Packer {
 public:
  // Keeps a reference to `corpus`. weights[source] as in DataSource. Holds one epoch at a time.
  Packer(const Corpus& corpus, std::vector<double> weights, int64_t length, uint64_t seed);

  // The sequence number `counter`, through all epochs. REQUIRES: not empty(); cheap when counters
  // are asked for in rising order.
  const Sequence& At(int64_t counter);
  bool empty();
  int64_t epoch() const { return epoch_; }
  int64_t sequences_in_epoch() const { return static_cast<int64_t>(sequences_.size()); }

  // The held-out documents, each once, in a fixed random order.
  std::vector<Sequence> HeldOut() const;

 private:
  void LoadEpoch(int64_t epoch);
  bool HasToLearn(const Piece& piece) const;
  void AppendPieces(const CorpusDocument& document, std::vector<Piece>& pieces) const;
  std::vector<Sequence> Pack(const std::vector<Piece>& pieces) const;

  const Corpus& corpus_;
  std::vector<double> weights_;
  int64_t length_;
  uint64_t seed_;
  int64_t epoch_ = -1, begin_ = 0;  // begin_: counter of the epoch's first sequence
  std::vector<Sequence> sequences_;
};

}  // namespace foretoken::train
