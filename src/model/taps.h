// Taps: the parts of the target's computation that a drafter sees, requested in advance.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "backend/paged_rows.h"
#include "backend/tensor.h"
#include "base/types.h"

namespace foretoken {

struct TapSpec {
  // Hidden states by Hugging Face index: 0 = embeddings, i = residual stream after layer i, and
  // `layers` (the last) = after the final norm (S-2). Ascending, distinct.
  std::vector<int> hidden;
  // Layers (0-based) whose rotated queries are wanted, [rows, heads * head_dim]. Ascending,
  // distinct.
  std::vector<int> queries;
  // Layers (0-based) whose cached keys and values are read in place. Ascending, distinct.
  std::vector<int> kv_layers;
  // Whether the input of the LM head is wanted: the last hidden state, for the rows whose logits
  // are wanted. Unless `hidden` names that state as well, it is not computed for other rows.
  bool head_input = false;
  // Whether the target's likeliest token after every row is wanted.
  bool answers = false;
};
TapSpec Merge(const TapSpec& a, const TapSpec& b);

// The recorded values of one pass for one sequence: node n is row n. Valid until the model's next
// pass; keys and values are valid until the cache takes or gives back pages.
class Taps {
 public:
  Tensor Hidden(int index) const { return hidden_.at(index); }    // [rows, hidden] f32
  Tensor Queries(int layer) const { return queries_.at(layer); }  // [rows, heads * head_dim] f32
  PagedRows Keys(int layer) const { return keys_.at(layer); }     // [capacity, kv_cols]
  PagedRows Values(int layer) const { return values_.at(layer); }

  // [rows whose logits were requested, hidden] f32.
  Tensor HeadInput() const { return head_input_; }

  // [rows] the token with the highest logit after each row; empty where some logits of this
  // sequence were not computed.
  std::span<const Token> answers() const { return answers_; }

  void SetHidden(int index, Tensor t) { hidden_[index] = t; }
  void SetQueries(int layer, Tensor t) { queries_[layer] = t; }
  void SetCache(int layer, const PagedRows& keys, const PagedRows& values) {
    keys_[layer] = keys;
    values_[layer] = values;
  }
  void SetHeadInput(Tensor t) { head_input_ = t; }
  // `answers` must stay valid as long as the taps.
  void SetAnswers(std::span<const Token> answers) { answers_ = answers; }

 private:
  std::map<int, Tensor> hidden_, queries_;
  std::map<int, PagedRows> keys_, values_;
  Tensor head_input_;
  std::span<const Token> answers_;
};

}  // namespace foretoken
