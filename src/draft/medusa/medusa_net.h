// Medusa's heads (B-5): residual blocks over the target's last feature, and an output matrix. Each
// head predicts one token further ahead than the head before.
#pragma once

#include <memory>
#include <vector>

#include "draft/draft_head.h"
#include "draft/residual_blocks.h"
#include "io/draft_file.h"

namespace foretoken {

// Thread-safety: one thread.
class MedusaNet {
 public:
  // The net owns `file`; `target` must outlive the net. Error messages name the file, and the key
  // or tensor if one is at fault.
  static Result<std::unique_ptr<MedusaNet>> Load(std::unique_ptr<DraftFile> file, Model& target,
                                                 const DraftTokenRule& rule = {});

  int heads() const { return static_cast<int>(heads_.size()); }
  // For each column of the logits, the target's token that it scores.
  DraftVocabulary vocabulary() const { return output_.vocabulary(); }
  DraftPrior Prior() const;
  Backend& backend() const { return target_.backend(); }
  // Logits [rows, tokens scored] of head `head` for `features` [rows, hidden]; valid until the next
  // call. Errors: out of memory.
  Result<Tensor> Logits(int head, Tensor features);

 private:
  using Blocks = std::vector<ResidualBlock>;
  MedusaNet(std::unique_ptr<DraftFile> file, std::unique_ptr<WeightSource> source,
            std::vector<Blocks> heads, DraftHead output, Model& target);

  std::unique_ptr<DraftFile> file_;
  std::unique_ptr<WeightSource> source_;
  std::vector<Blocks> heads_;
  DraftHead output_;  // a matrix for each of heads_, or the target's for all
  Model& target_;
  ResidualBlocks blocks_;
  Buffer state_;
};

}  // namespace foretoken
