// Measures a draft's acceptance and top-k accuracy on held-out text.
#pragma once

#include <torch/types.h>

#include <string>
#include <vector>

#include "task.h"

namespace foretoken::train {

// Names of metrics that are measured on the data's text. Acceptance in the target's own answers is
// measured by `bench spec` instead (own_answers.h).
inline constexpr char kForcedAlpha[] = "teacher_forced_alpha_";
inline constexpr char kForcedTau[] = "teacher_forced_tau";

inline constexpr int64_t kLikeliest = 5;
// Returns the top-kLikeliest tokens of each row of `features` under `head` [vocab, hidden], best
// first: int64 [rows, kLikeliest]. Holds logits of kLossChunk rows at a time.
torch::Tensor Likeliest(const torch::Tensor& features, const torch::Tensor& head);
// Returns the rows of a batch whose tokens DraftAccuracy reads: int64.
torch::Tensor JudgedRows(const Batch& batch);
// Returns [count, kLikeliest] with `tokens` [rows.size(0), kLikeliest] in the rows `rows` and -1 in
// the others.
torch::Tensor AtRows(const torch::Tensor& tokens, const torch::Tensor& rows, int64_t count);

// Accumulates two measures of a draft's steps.
// L-5, teacher-forced acceptance: drafts start at every prefix whose next token is the target's
// argmax. Step k is correct if its token is the target's argmax. A draft ends at its first
// incorrect step, or where the text departs from the target's argmax.
// L-6, head accuracy: the shares of the tokens with a loss that step k ranks first, and among its
// kLikeliest top tokens, given the text before them.
class DraftAccuracy {
 public:
  explicit DraftAccuracy(int64_t steps)
      : correct_(steps), reached_(steps), top1_hits_(steps), top_hits_(steps), predicted_(steps) {}

  // `said` [rows, kLikeliest]: the target's top tokens; row r predicts token r + 1. guesses[k], of
  // the same shape: the draft's top tokens at step k + 1; row r has consumed a pair that ends
  // with token r + 1, and predicts token r + 2. All come from Likeliest; rows outside JudgedRows
  // may have any values.
  void Add(const Batch& batch, const torch::Tensor& said,
           const std::vector<torch::Tensor>& guesses);

  // Appends teacher_forced_alpha_k, the share of correct tokens at step k among the drafts that
  // reached it; teacher_forced_tau, the acceptance length that follows from them, bonus included;
  // top1_k and top5_k, the head accuracy of step k.
  void AppendTo(Metrics& metrics) const;

 private:
  void AddRanks(const Batch& batch, const std::vector<torch::Tensor>& guesses);

  std::vector<double> correct_, reached_;                 // [steps] counts of drafts (L-5)
  std::vector<double> top1_hits_, top_hits_, predicted_;  // [steps] counts of tokens (L-6)
};

// A draft's loss and guesses on a held-out batch.
struct HeldOut {
  double loss = 0.0, loss_terms = 0.0;  // a sum, and its number of terms (Task::CountLossTerms)
  torch::Tensor said;                   // as in DraftAccuracy::Add
  std::vector<torch::Tensor> guesses;   // as in DraftAccuracy::Add
};

// The task of training a draft, evaluated by its guesses on held-out data.
class DraftTask : public Task {
 public:
  // "heldout_loss", then DraftAccuracy's metrics.
  Metrics Evaluate(const std::vector<Batch>& batches) final;
  // "teacher-forced alpha 0.62 0.55 ... tau 2.31"
  std::string Summary(const Metrics& evaluated) const final;

 private:
  virtual int64_t steps() const = 0;  // the number of draft steps that are evaluated
  virtual HeldOut EvaluateHeldOut(const Batch& batch) = 0;
};

}  // namespace foretoken::train
