// Chimera's n-gram encoder (C-17): with u the concatenated embeddings of the last n tokens, the
// state is G = W2 (u + SiLU(W1 u + b1)).
#pragma once

#include <memory>
#include <span>

#include "draft/chimera/ngram_cache.h"
#include "draft/residual_blocks.h"

namespace foretoken {

struct NgramWeights {
  int n = 0;                       // tokens of an n-gram, 1 ... kMostNgram
  ResidualBlock block;             // W1 [n * hidden, n * hidden], b1
  std::unique_ptr<Weight> output;  // W2 [hidden, n * hidden]
};

// Thread-safety: one thread.
class NgramEncoder {
 public:
  // `embedding` [vocab, hidden] outlives this.
  NgramEncoder(Backend& backend, const Weight& embedding, NgramWeights weights, NgramCache cache);

  int n() const { return weights_.n; }
  const NgramLookups& lookups() const { return cache_.lookups(); }
  // Writes the states of `ngrams` to out [ngrams, hidden]. Errors, here and below: out of memory.
  Status Encode(std::span<const Ngram> ngrams, Tensor out);
  // Computes and caches the states of `ngrams`. Earlier n-grams then count as more recently used.
  Status Preload(std::span<const Ngram> ngrams);

 private:
  Result<Tensor> Compute(std::span<const Ngram> ngrams);

  Backend& backend_;
  const Weight& embedding_;
  NgramWeights weights_;
  NgramCache cache_;
  ResidualBlocks blocks_;
  Buffer input_, states_;  // [rows, n * hidden], [rows, hidden]
};

}  // namespace foretoken
