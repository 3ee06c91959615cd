// What EAGLE's drafter asks of a network, whichever of the methods' it is.
#pragma once

#include "draft/feature_drafter.h"

namespace foretoken {

// The output of row i estimates the feature of token i + 1, whose logits guess token i + 2; drafted
// tokens are fed with the output that they were read from as their feature.
class EagleModule : public FeatureNet {
 public:
  // The logits of `outputs` [rows, hidden]: [rows, vocab], valid until the next call. Errors:
  // out of memory.
  virtual Result<Tensor> Logits(Tensor outputs) = 0;
  virtual int vocab() const = 0;
  // Which tokens these are: the target's own, unless the module has fewer.
  virtual DraftVocabulary vocabulary() const { return {}; }
};

}  // namespace foretoken
