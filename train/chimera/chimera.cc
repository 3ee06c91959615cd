// `foretoken train chimera` (C-23): cross-entropy of every head, and the distance between the
// encoder's output for a token and the target's feature of it.
#include <array>

#include "chimera/module.h"
#include "draft/chimera/chimera_spec.h"
#include "draft_accuracy.h"
#include "draft_export.h"
#include "head_rows.h"
#include "io/draft_keys.h"

namespace foretoken::train {
namespace {

using torch::Tensor;

ChimeraShape ShapeOf(const Recipe& r) {
  return {static_cast<int64_t>(r.Number("output_heads")), static_cast<int64_t>(r.Number("ngram")),
          r.Number("shared_output") != 0.0};
}

// Returns the anchors from which `head` learns: the rows of the drafts' last known features. A
// document's first row is left out (C-23).
HeadRows Anchors(const Batch& batch, int64_t head) { return RowsOfHead(batch, head, /*skip=*/1); }

class ChimeraTask final : public DraftTask {
 public:
  ChimeraTask(const Recipe& recipe, std::shared_ptr<FrozenTarget> target, torch::Device device)
      : target_(std::move(target)),
        module_(*target_, ShapeOf(recipe), WeightOptionsOf(recipe, device)),
        mse_weight_(recipe.Number("mse_weight")),
        selffeed_(recipe.Number("selffeed") != 0.0) {}

  WeightSet& weights() override { return module_.weights(); }

  double CountLossTerms(const Batch& batch) const override {
    return static_cast<double>(Anchors(batch, 0).rows.size(0));
  }

  Metrics Learn(const Batch& batch, double scale) override {
    const Tensor features = target_->Features(batch);
    const ChimeraContext context =
        selffeed_ ? module_.EncodeSelfFed(batch, features) : module_.Encode(batch, features);
    // Distance is a mean. It is scaled to a sum over head 0's rows, like the other losses.
    const Tensor distance =
        module_.Distance(batch, context, features) * (mse_weight_ * CountLossTerms(batch) * scale);
    Tensor token_loss = torch::zeros_like(distance);
    for (int64_t k = 0; k < module_.heads(); ++k) {
      token_loss = token_loss + Loss(context, k, features, batch, scale);
    }
    const Tensor loss = token_loss + distance;
    if (loss.requires_grad()) loss.backward();
    return {{"loss", loss.item<double>()},
            {"token_loss", token_loss.item<double>()},
            {"feature_loss", distance.item<double>()}};
  }

  // No gradients are computed for features, embeddings and the target's LM head.
  double Flops(const Batch& batch) const override {
    const int64_t rows = batch.batch * batch.length;
    double total = target_->FeatureFlops(rows, batch.length) +
                   3.0 * (module_.EncoderFlops(rows, batch.length) + module_.OutputFlops(rows));
    if (selffeed_) total += module_.SelfFedFlops(rows, batch.length);
    for (int64_t k = 0; k < module_.heads(); ++k) {
      const int64_t loss_rows = Anchors(batch, k).rows.size(0);
      total += 3.0 * (module_.HeadFlops(loss_rows) + module_.OutputFlops(loss_rows));
      if (module_.scores(k).masters.empty()) {
        total -= (3.0 - 2.0 * HeadOf(k).target.Share()) * target_->HeadFlops(loss_rows);
      }
    }
    return total;
  }

 private:
  int64_t steps() const override { return module_.heads(); }
  HeldOut EvaluateHeldOut(const Batch& batch) override;

  LossHead HeadOf(int64_t head) const { return target_->LossHeadOf(module_.scores(head)); }
  Tensor Loss(const ChimeraContext& context, int64_t head, const Tensor& features,
              const Batch& batch, double scale) const {
    const LossHead scores = HeadOf(head);
    const HeadRows anchors = scores.target.Scored(Anchors(batch, head));
    const Tensor outputs = module_.Output(context, head, anchors.rows + head + 1);
    const Tensor states = module_.States(head, features.index_select(0, anchors.rows), outputs);
    return HeadLoss(states, scores.draft, anchors.targets, scale);
  }

  std::shared_ptr<FrozenTarget> target_;
  ChimeraModule module_;
  double mse_weight_;
  bool selffeed_;
};

HeldOut ChimeraTask::EvaluateHeldOut(const Batch& batch) {
  const Tensor features = target_->Features(batch);
  const ChimeraContext context = module_.Encode(batch, features);
  const Tensor all_rows =
      torch::arange(features.size(0), torch::TensorOptions(features.device()).dtype(torch::kInt64));
  HeldOut held_out{Loss(context, 0, features, batch, 1.0).item<double>(),
                   CountLossTerms(batch),
                   Likeliest(features, target_->head()),
                   {}};
  for (int64_t k = 0; k < module_.heads(); ++k) {
    const Tensor states =
        module_.States(k, features.roll(k + 1, 0), module_.Output(context, k, all_rows));
    const LossHead scores = HeadOf(k);
    const Tensor guess = Likeliest(states, scores.draft.compute);
    held_out.guesses.push_back(scores.target.Tokens(guess).roll(-1, 0));
  }
  return held_out;
}

Status Export(const ExportRequest& request, const CheckpointInfo& info) {
  const ChimeraShape shape = ShapeOf(info.recipe);
  DraftInfo draft =
      InfoOfHeads(info.recipe, ChimeraSpec::Taps(static_cast<int>(info.recipe.layers)),
                  static_cast<int>(shape.heads), /*embedding=*/true);
  draft.ngram = static_cast<int>(shape.ngram);
  return ExportDraft(request, info, std::move(draft), 1, [&](const std::string& name) {
    return ChimeraSpec::NameInDraft(name, shape.shared_output);
  });
}

constexpr std::array<Setting, 7> kSettings = {{
    kTargetSetting,
    {"output_heads", "4", Whole(1, 16), "tokens guessed ahead", Change::kNever},
    {"ngram", "3", Whole(1, kMostNgram), "tokens that the n-gram encoder reads, 1 to 5",
     Change::kNever},
    {"mse_weight", "1", FromTo(0.0, 1e6),
     "weight of the distance between the encoder's outputs and features"},
    {"shared_output", "0", Whole(0, 1),
     "1: heads end in the target's LM head instead of one of their own", Change::kNever},
    kScoredSetting,
    {"selffeed", "0", Whole(0, 1),
     "1: heads after the first read the draft's own tokens, not the text's"},
}};

}  // namespace

extern const Method kMethod_chimera;
const Method kMethod_chimera = {
    ChimeraSpec::kMethod.data(),
    "heads that attend to all tokens through a light encoder",
    kSettings,
    &PrepareTask<ChimeraTask>,
    &Export,
    {.rate = 0.0015, .settings = {{{"shared_output", "1"}}}, .scored = kScoredTokens}};

}  // namespace foretoken::train
