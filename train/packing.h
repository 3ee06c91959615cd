// Orders a corpus and packs its documents into sequences. A sequence is a pure function of the seed
// and its number; there is no state of a random-number generator to restore, so a resumed run
// continues exactly.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "corpus.h"

namespace foretoken::train {

// Tokens [first, first + count] of the corpus: `count` inputs and their targets, shifted by one.
struct Piece {
  int64_t first = 0;
  int32_t count = 0;
  // The target reads [read_first, read_first + read_count), which contain the inputs, and shows the
  // draft what it computed for them. read_count 0: it reads the inputs alone.
  int64_t read_first = 0;
  int32_t read_count = 0;
};
using Sequence = std::vector<Piece>;  // pieces in order, at most `length` inputs in all

// Packs documents best-fit, so that little padding is needed. Only a document longer than a
// sequence is cut into pieces; a remainder shorter than kShortestPiece is dropped. Pieces whose
// targets are all masked are dropped too.
class Packer {
 public:
  // Keeps a reference to `corpus`. weights[source]: DataSource::weight. Holds one epoch at a time.
  // `target_length`: inputs of a document that the target reads at once; 0: those of a piece.
  Packer(const Corpus& corpus, std::vector<double> weights, int64_t length, uint64_t seed,
         int64_t target_length = 0);

  // Returns sequence number `counter`, counted over all epochs. Cheap for ascending counters;
  // every new epoch is packed once. A counter before the current epoch repacks from epoch 0 on.
  // REQUIRES: not empty().
  const Sequence& At(int64_t counter);
  // Returns up to `count` sequences from number `counter` on, of the epoch that At read last.
  std::span<const Sequence> Coming(int64_t counter, int64_t count) const;
  bool empty();
  int64_t epoch() const { return epoch_; }
  int64_t sequences_in_epoch() const { return static_cast<int64_t>(sequences_.size()); }

  int64_t inputs_in_epoch() const { return inputs_; }  // padding not included

  // Packs the held-out documents, each once, in a fixed random order.
  std::vector<Sequence> HeldOut() const;

 private:
  void LoadEpoch(int64_t epoch);
  bool HasLoss(const Piece& piece) const;
  void AppendPieces(const CorpusDocument& document, std::vector<Piece>& pieces) const;
  std::vector<Sequence> Pack(const std::vector<Piece>& pieces) const;

  const Corpus& corpus_;
  std::vector<double> weights_;
  int64_t length_, target_length_;
  uint64_t seed_;
  int64_t epoch_ = -1, begin_ = 0;  // begin_: counter of the epoch's first sequence
  int64_t inputs_ = 0;              // of sequences_
  std::vector<Sequence> sequences_;
};

}  // namespace foretoken::train
