// What EAGLE's drafter asks of a network, whichever of the methods' it is.
#pragma once

#include "draft/feature_drafter.h"

namespace foretoken {

// The output of row i estimates the feature of token i + 1, whose logits guess token i + 2; drafted
// tokens are fed with the output that they were read from as their feature.
class EagleModule : public FeatureNet {
 public:
  // The logits of `outputs` [rows, hidden]: [rows, tokens scored], valid until the next call.
  // Errors: out of memory.
  virtual Result<Tensor> Logits(Tensor outputs) = 0;
  // The target's tokens that these are of.
  virtual DraftVocabulary vocabulary() const = 0;
  virtual DraftPrior Prior() const = 0;
};

}  // namespace foretoken
