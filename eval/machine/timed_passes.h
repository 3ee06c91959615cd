// Passes of a model over made-up tokens, timed and forgotten.
#pragma once

#include <memory>
#include <vector>

#include "model/model.h"

namespace foretoken {

// One sequence behind `context` positions.
class TimedPasses {
 public:
  // Fills the context. REQUIRES: the model's passes may have kBenchRows rows. See status().
  TimedPasses(Model& model, DType cache_type, int context);

  // Seconds of scoring a chain of `rows` tokens, with the choice of the next ones where every row's
  // logits are wanted, as verification does; a prompt wants the last row's.
  double Time(int rows, bool all_logits);
  // The first pass that found no memory, if any; it and those after it were not made.
  const Status& status() const { return status_; }
  // Of the context's keys and values.
  double cache_bytes() const;

 private:
  void Pass(int position, int rows, bool all_logits);

  Model& model_;
  int context_;
  std::unique_ptr<KvCache> cache_;
  std::vector<Token> chosen_;
  Status status_;
};

}  // namespace foretoken
