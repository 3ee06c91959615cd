// The network interface of the EAGLE drafter, common to EAGLE, HASS and EAGLE-3.
#pragma once

#include "draft/feature_drafter.h"

namespace foretoken {

// The output of row i estimates the feature of token i + 1, and its logits predict token i + 2. A
// drafted token's feature is the output that the token was predicted from.
class EagleModule : public FeatureNet {
 public:
  // The logits [rows, tokens scored] of `outputs` [rows, hidden]; valid until the next call.
  // Errors: out of memory.
  virtual Result<Tensor> Logits(Tensor outputs) = 0;
  // For each column of the logits, the target's token that it scores.
  virtual DraftVocabulary vocabulary() const = 0;
  virtual DraftPrior Prior() const = 0;
};

}  // namespace foretoken
