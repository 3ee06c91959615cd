// `foretoken train hydra`: Hydra++ (B-12). A head reads the guesses of the heads before it and is
// trained on the target's distribution of the next token.
#include <array>

#include "base/rng.h"
#include "draft_accuracy.h"
#include "draft_export.h"
#include "draft_ops.h"
#include "head_rows.h"
#include "hydra/module.h"

namespace foretoken::train {
namespace {

using torch::Tensor;

constexpr uint64_t kDropoutStream = 0x64726f706f7574;

HydraShape ShapeOf(const Recipe& r) {
  return {static_cast<int64_t>(r.Number("output_heads")),
          static_cast<int64_t>(r.Number("head_layers")), r.Number("shared_output") != 0.0};
}

class HydraTask final : public DraftTask {
 public:
  HydraTask(const Recipe& recipe, std::shared_ptr<FrozenTarget> target, torch::Device device)
      : target_(std::move(target)),
        module_(*target_, ShapeOf(recipe), WeightOptionsOf(recipe, device)),
        dropout_(recipe.Number("dropout")),
        dropout_key_(Mix(Mix(static_cast<uint64_t>(recipe.seed)) ^ kDropoutStream)) {}

  WeightSet& weights() override { return module_.weights(); }

  double CountLossTerms(const Batch& batch) const override {
    return static_cast<double>(RowsOfHead(batch, 0).rows.size(0));
  }

  Metrics Learn(const Batch& batch, double scale) override {
    const Tensor features = target_->Features(batch);
    const Tensor prefix = module_.Prefix(batch, features);
    const HydraDropout dropout{dropout_, Mix(dropout_key_ ^ batch.number)};
    Tensor loss = Loss(0, features, prefix, batch, scale, dropout);
    for (int64_t k = 1; k < module_.heads(); ++k) {
      loss = loss + Loss(k, features, prefix, batch, scale, dropout);
    }
    if (loss.requires_grad()) loss.backward();
    return {{"loss", loss.item<double>()}};
  }

  // No gradients are computed for features, embeddings and a shared LM head.
  double Flops(const Batch& batch) const override {
    const int64_t rows = batch.batch * batch.length;
    double total =
        target_->FeatureFlops(rows, batch.length) + 3.0 * module_.PrefixFlops(rows, batch.length);
    for (int64_t k = 0; k < module_.heads(); ++k) {
      const int64_t loss_rows = RowsOfHead(batch, k).rows.size(0);
      const double trained = module_.scores(k).masters.empty() ? 2.0 : 3.0;
      total += 3.0 * module_.StateFlops(k, loss_rows) +
               (1.0 + trained) * HeadOf(k).target.Share() * target_->HeadFlops(loss_rows);
    }
    return total;
  }

 private:
  LossHead HeadOf(int64_t head) const { return target_->LossHeadOf(module_.scores(head)); }
  // The KL divergence from the target's distribution: the soft cross-entropy minus a constant.
  Tensor Loss(int64_t head, const Tensor& features, const Tensor& prefix, const Batch& batch,
              double scale, const HydraDropout& dropout = {}) const {
    const LossHead scores = HeadOf(head);
    const Tensor rows = scores.target.Scored(RowsOfHead(batch, head)).rows;
    return DistillationLoss(module_.States(head, batch, prefix, rows, dropout), scores.draft,
                            features.index_select(0, rows + head + 1), scores.target.rows(), scale,
                            kLossChunk);
  }

  int64_t steps() const override { return module_.heads(); }
  HeldOut EvaluateHeldOut(const Batch& batch) override {
    const Tensor features = target_->Features(batch);
    const Tensor prefix = module_.Prefix(batch, features);
    const int64_t count = features.size(0);
    HeldOut held_out{Loss(0, features, prefix, batch, 1.0).item<double>(),
                     CountLossTerms(batch),
                     Likeliest(features, target_->head()),
                     {}};
    const auto options = torch::TensorOptions(features.device()).dtype(torch::kInt64);
    for (int64_t k = 0; k < module_.heads(); ++k) {
      // Row r reads the targets of rows up to r + k; its guess belongs to row r + k.
      const Tensor rows = torch::arange(std::max<int64_t>(count - k, 0), options);
      const LossHead scores = HeadOf(k);
      const Tensor guess = scores.target.Tokens(
          Likeliest(module_.States(k, batch, prefix, rows), scores.draft.compute));
      held_out.guesses.push_back(
          torch::cat({torch::zeros({count - guess.size(0), kLikeliest}, options), guess}));
    }
    return held_out;
  }

  std::shared_ptr<FrozenTarget> target_;
  HydraModule module_;
  double dropout_;
  uint64_t dropout_key_;
};

Status Export(const ExportRequest& request, const CheckpointInfo& info) {
  const HydraShape shape = ShapeOf(info.recipe);
  DraftInfo draft = InfoOfHeads(info.recipe, HydraSpec::Taps(static_cast<int>(info.recipe.layers)),
                                static_cast<int>(shape.heads), /*embedding=*/true);
  draft.head_layers = static_cast<int>(shape.layers);
  return ExportDraft(request, info, std::move(draft), 1, HydraSpec::NameInDraft);
}

constexpr std::array<Setting, 6> kSettings = {{
    kTargetSetting,
    {"output_heads", "4", Whole(1, 16), "tokens guessed ahead", Change::kNever},
    {"head_layers", "4", Whole(1, 16), "residual blocks of a head", Change::kNever},
    {"shared_output", "0", Whole(0, 1),
     "1: heads are scored by the target's LM head instead of their own", Change::kNever},
    kScoredSetting,
    {"dropout", "0", FromToBelow(0.0, 1.0),
     "dropout of the inputs of blocks and scores; the paper's is 0.2"},
}};

}  // namespace

extern const Method kMethod_hydra;
const Method kMethod_hydra = {
    HydraSpec::kMethod.data(),
    "heads that read the earlier heads' guesses (Hydra++)",
    kSettings,
    &PrepareTask<HydraTask>,
    &Export,
    {.rate = 0.0015, .settings = {{{"shared_output", "1"}}}, .scored = kScoredTokens},
    &HydraSpec::NameInDraft};

}  // namespace foretoken::train
