// The LM head of a draft: the target's head or the draft's own, with all its rows or only those of
// a reduced vocabulary.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "draft/draft_tokens.h"
#include "io/draft_file.h"
#include "model/model.h"
#include "model/weight_source.h"

namespace foretoken {

// Where the rows of a draft's head come from.
struct HeadSpec {
  // Matrices [rows, cols] of the draft's file, all over the same vocabulary. Empty: the target's LM
  // head is used.
  std::vector<std::string> names;
  int64_t rows = 0, cols = 0;
  std::vector<Token> tokens;   // row i is the target's token tokens[i]; empty: token i
  std::vector<Buffer> biases;  // [1, rows] for each of `names`, or none
};

// Thread-safety: one thread.
class DraftHead {
 public:
  // Loads the rows that `rule` picks. `body_bytes`: bytes of the weights, without the head, that a
  // drafting level reads. `source` (of `file`) and `target` must outlive this. Errors: a matrix
  // that is missing or has another shape, rows that are not whole blocks of their type,
  // errors of PickTokens, out of memory.
  static Result<DraftHead> Load(const DraftTokenRule& rule, const HeadSpec& spec,
                                const DraftFile& file, WeightSource& source, Model& target,
                                size_t body_bytes);

  int size() const { return static_cast<int>(weights_[0]->rows()); }  // columns of logits
  size_t bytes() const { return weights_[0]->bytes(); }               // weights that Logits reads
  // For each column of the logits, the target's token that it scores; valid while this object
  // lives.
  DraftVocabulary vocabulary() const { return tokens_.vocabulary(); }
  // Logits [rows, size()] of `x` [rows, columns of the head] from matrix `index`, or from the only
  // matrix if there is just one; valid until the next call. Errors: out of memory.
  Result<Tensor> Logits(const LinearIn& x, int index = 0);

 private:
  explicit DraftHead(Backend& backend) : backend_(&backend) {}
  Status LoadOwn(const HeadSpec& spec, WeightSource& source);

  Backend* backend_;
  DraftTokens tokens_;
  std::vector<std::unique_ptr<Weight>> own_;  // empty: the target's whole head is used
  std::vector<const Weight*> weights_;        // from own_, or the target's
  std::vector<Buffer> biases_;                // for each of weights_, or none
  Buffer logits_;
};

}  // namespace foretoken
