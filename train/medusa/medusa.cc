// `foretoken train medusa`: Medusa-1 (B-7). Heads over the feature that predicted the root: head k
// predicts the token k + 1 positions after the root.
#include <array>
#include <cmath>

#include "draft/medusa/medusa_spec.h"
#include "draft_accuracy.h"
#include "draft_export.h"
#include "head_rows.h"
#include "medusa/module.h"

namespace foretoken::train {
namespace {

using torch::Tensor;

class MedusaTask final : public DraftTask {
 public:
  MedusaTask(const Recipe& recipe, std::shared_ptr<FrozenTarget> target, torch::Device device)
      : target_(std::move(target)),
        module_(*target_, static_cast<int64_t>(recipe.Number("output_heads")),
                recipe.Number("shared_output") != 0.0, WeightOptionsOf(recipe, device)),
        decay_(recipe.Number("head_decay")) {}

  WeightSet& weights() override { return module_.weights(); }

  double CountLossTerms(const Batch& batch) const override {
    return static_cast<double>(RowsOfHead(batch, 0).rows.size(0));
  }

  Metrics Learn(const Batch& batch, double scale) override {
    const Tensor features = target_->Features(batch);
    Metrics metrics = {{"loss", 0.0}};
    for (int64_t k = 0; k < module_.heads(); ++k) {
      const Tensor loss = Loss(k, features, batch, std::pow(decay_, k) * scale);
      if (loss.requires_grad()) loss.backward();
      metrics[0].second += loss.item<double>();
    }
    return metrics;
  }

  // No gradients are computed for features and a shared LM head.
  double Flops(const Batch& batch) const override {
    const int64_t rows = batch.batch * batch.length, width = target_->shape().hidden;
    double total = target_->FeatureFlops(rows, batch.length);
    for (int64_t k = 0; k < module_.heads(); ++k) {
      const int64_t loss_rows = RowsOfHead(batch, k).rows.size(0);
      total += 4.0 * static_cast<double>(loss_rows * width * width) +
               (module_.scores(k).masters.empty() ? 2.0 : 3.0) * HeadOf(k).target.Share() *
                   target_->HeadFlops(loss_rows);
    }
    return total;
  }

 private:
  LossHead HeadOf(int64_t head) const { return target_->LossHeadOf(module_.scores(head)); }
  Tensor Loss(int64_t head, const Tensor& features, const Batch& batch, double scale) const {
    const LossHead scores = HeadOf(head);
    const HeadRows at = scores.target.Scored(RowsOfHead(batch, head));
    const Tensor states = module_.States(head, features.index_select(0, at.rows));
    return HeadLoss(states, scores.draft, at.targets, scale);
  }

  int64_t steps() const override { return module_.heads(); }
  HeldOut EvaluateHeldOut(const Batch& batch) override {
    const Tensor features = target_->Features(batch);
    HeldOut held_out{Loss(0, features, batch, 1.0).item<double>(),
                     CountLossTerms(batch),
                     Likeliest(features, target_->head()),
                     {}};
    for (int64_t k = 0; k < module_.heads(); ++k) {
      const LossHead scores = HeadOf(k);
      const Tensor guess = Likeliest(module_.States(k, features), scores.draft.compute);
      held_out.guesses.push_back(scores.target.Tokens(guess).roll(k, 0));
    }
    return held_out;
  }

  std::shared_ptr<FrozenTarget> target_;
  MedusaModule module_;
  double decay_;
};

Status Export(const ExportRequest& request, const CheckpointInfo& info) {
  const int heads = static_cast<int>(info.recipe.Number("output_heads"));
  DraftInfo draft = InfoOfHeads(info.recipe, MedusaSpec::Taps(static_cast<int>(info.recipe.layers)),
                                heads, /*embedding=*/false);
  draft.head_layers = MedusaModule::kBlocks;
  return ExportDraft(request, info, std::move(draft), 0, MedusaSpec::OwnName);
}

constexpr std::array<Setting, 5> kSettings = {{
    kTargetSetting,
    {"output_heads", "5", Whole(1, 16), "tokens guessed ahead", Change::kNever},
    {"head_decay", "0.8", FromTo(0.0, 10.0), "head k's loss is weighted with head_decay^k"},
    {"shared_output", "0", Whole(0, 1),
     "1: heads are scored by the target's LM head instead of their own", Change::kNever},
    kScoredSetting,
}};

}  // namespace

extern const Method kMethod_medusa;
const Method kMethod_medusa = {
    MedusaSpec::kMethod.data(),
    "heads that guess several tokens ahead",
    kSettings,
    &PrepareTask<MedusaTask>,
    &Export,
    {.rate = 0.003, .settings = {{{"shared_output", "1"}}}, .scored = kScoredTokens},
    &MedusaSpec::OwnName};

}  // namespace foretoken::train
