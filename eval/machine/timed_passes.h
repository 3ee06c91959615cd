// Times passes of a model over made-up tokens. The timed rows are not committed.
#pragma once

#include <memory>
#include <vector>

#include "model/model.h"

namespace foretoken {

// A sequence with `context` cached positions. Thread-safety: one thread.
class TimedPasses {
 public:
  // Fills the context; see status() for errors. REQUIRES: the model's passes may have kBenchRows
  // rows. `model` must outlive this.
  TimedPasses(Model& model, DType cache_type, int context);

  // Returns the seconds to score a chain of `rows` tokens and take the arg max of each row of
  // logits. `all_logits`: computes logits for every row, like verification; otherwise only for the
  // last row, like a prompt's pass.
  double Time(int rows, bool all_logits);
  // OK, or the error of the first pass that failed (out of memory); later passes are skipped.
  const Status& status() const { return status_; }
  // Bytes of the context's keys and values.
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
