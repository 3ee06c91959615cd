// Taps: what a drafter may see of the target's work, declared once, up front.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "backend/tensor.h"
#include "base/types.h"

namespace foretoken {

struct TapSpec {
  // Hidden states by Hugging Face index: 0 = embeddings, i = residual stream after layer i, and
  // `layers` (the last) = after the final norm (methods.md 0.2). Ascending, distinct.
  std::vector<int> hidden;
  // Layers (0-based) whose rotated queries are wanted, [rows, heads * head_dim]. Ascending,
  // distinct.
  std::vector<int> queries;
  // Layers (0-based) whose cached keys and values are read in place. Ascending, distinct.
  std::vector<int> kv_layers;
};
TapSpec Merge(const TapSpec& a, const TapSpec& b);

// The recorded values of one pass, for one sequence: node n is row n. Valid until the model's next
// pass; cache tensors until the cache's.
class Taps {
 public:
  Tensor Hidden(int index) const { return hidden_.at(index); }    // [rows, hidden] f32
  Tensor Queries(int layer) const { return queries_.at(layer); }  // [rows, heads * head_dim] f32
  Tensor Keys(int layer) const { return keys_.at(layer); }        // [capacity, kv_cols]
  Tensor Values(int layer) const { return values_.at(layer); }    // [capacity, kv_cols]

  // The rows [begin, begin + count).
  Taps Slice(int begin, int count) const;

  void SetHidden(int index, Tensor t) { hidden_[index] = t; }
  void SetQueries(int layer, Tensor t) { queries_[layer] = t; }
  void SetCache(int layer, Tensor keys, Tensor values) {
    keys_[layer] = keys;
    values_[layer] = values;
  }

 private:
  std::map<int, Tensor> hidden_, queries_, keys_, values_;
};

}  // namespace foretoken
