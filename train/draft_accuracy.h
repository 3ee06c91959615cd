// How long a draft's guesses hold, on held-out text.
#pragma once

#include <torch/types.h>

#include <string>
#include <vector>

#include "task.h"

namespace foretoken::train {

// Names of what is measured on the data's text; acceptance in the target's own answers is what
// `bench spec` measures (own_answers.h).
inline constexpr char kForcedAlpha[] = "teacher_forced_alpha_";
inline constexpr char kForcedTau[] = "teacher_forced_tau";

inline constexpr int64_t kLikeliest = 5;
// The tokens that `head` [vocab, hidden] makes likeliest of each row, best first: int64 [rows,
// kLikeliest]. Logits exist for a part of the rows at a time.
torch::Tensor Likeliest(const torch::Tensor& features, const torch::Tensor& head);
// The rows of a batch whose tokens DraftAccuracy reads: int64.
torch::Tensor JudgedRows(const Batch& batch);
// `tokens` [rows.size, kLikeliest] at `rows` among `count` rows, -1 in the others.
torch::Tensor AtRows(const torch::Tensor& tokens, const torch::Tensor& rows, int64_t count);

// Two measures of a draft's steps.
// L-5: drafting from every prefix whose text is what the target says, step k is right
// where its token is the target's; drafting ends at the first miss, and where the text leaves the
// target.
// L-6: given the text up to it, step k finds the text's token among its
// likeliest; over all tokens to be learnt.
class DraftAccuracy {
 public:
  explicit DraftAccuracy(int64_t steps)
      : right_(steps), reached_(steps), first_(steps), among_(steps), asked_(steps) {}

  // `said` is what the target makes likeliest by row, guesses[k] what step k + 1 does at the row it
  // stands for: row r's guess is the token after the one that r's pair ends with. As Likeliest
  // gives them; rows that are not JudgedRows may hold anything.
  void Add(const Batch& batch, const torch::Tensor& said,
           const std::vector<torch::Tensor>& guesses);

  // teacher_forced_alpha_k: the share of right tokens at step k among the drafts that reached it;
  // teacher_forced_tau: the length of a cycle that follows from them, the target's own token
  // included; top1_k and top5_k: the shares of the text's tokens that step k finds.
  void AppendTo(Metrics& metrics) const;

 private:
  void AddRanks(const Batch& batch, const std::vector<torch::Tensor>& guesses);

  std::vector<double> right_, reached_;        // by step
  std::vector<double> first_, among_, asked_;  // the same
};

// What a draft says of a batch that it did not learn from.
struct HeldOut {
  double loss = 0.0, learnt = 0.0;     // a sum, and over how much
  torch::Tensor said;                  // see DraftAccuracy::Add
  std::vector<torch::Tensor> guesses;  // the same
};

// A draft, judged by what it says of held-out data.
class DraftTask : public Task {
 public:
  // "heldout_loss", then DraftAccuracy's metrics.
  Metrics Evaluate(const std::vector<Batch>& batches) final;
  // "teacher-forced alpha 0.62 0.55 ... tau 2.31"
  std::string Summary(const Metrics& evaluated) const final;

 private:
  virtual int64_t steps() const = 0;  // that a draft has
  virtual HeldOut Judge(const Batch& batch) = 0;
};

}  // namespace foretoken::train
