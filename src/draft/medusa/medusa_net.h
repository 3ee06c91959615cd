// Medusa's heads (methods.md 7.7): residual blocks over the target's last feature, and a matrix
// that turns them into logits of one token further ahead each.
#pragma once

#include <memory>
#include <vector>

#include "draft/residual_blocks.h"
#include "io/draft_file.h"

namespace foretoken {

// Thread-safety: one thread.
class MedusaNet {
 public:
  // `file` is kept; `target` must outlive the net. Errors name file and tensor.
  static Result<std::unique_ptr<MedusaNet>> Load(std::unique_ptr<DraftFile> file, Model& target);

  int heads() const { return static_cast<int>(heads_.size()); }
  int vocab() const { return static_cast<int>(target_.OutputHead().rows()); }
  Backend& backend() const { return target_.backend(); }
  // Logits [rows, vocab] of head `head` for `features` [rows, hidden], valid until the next call.
  // Errors: out of memory.
  Result<Tensor> Logits(int head, Tensor features);

 private:
  struct Head {
    std::vector<ResidualBlock> blocks;
    std::unique_ptr<Weight> output;  // [vocab, hidden]; null: the target's
  };
  MedusaNet(std::unique_ptr<DraftFile> file, std::unique_ptr<WeightSource> source,
            std::vector<Head> heads, Model& target);

  std::unique_ptr<DraftFile> file_;
  std::unique_ptr<WeightSource> source_;
  std::vector<Head> heads_;
  Model& target_;
  ResidualBlocks blocks_;
  Buffer state_, logits_;
};

}  // namespace foretoken
