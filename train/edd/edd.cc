// `foretoken train edd`: trains a one-layer draft. EDD attends to the target's hidden states as a
// soft prompt; VDM (`--encoder 0`) attends to tokens only.
#include <array>
#include <cmath>

#include "base/rng.h"
#include "draft/edd/edd_spec.h"
#include "draft_accuracy.h"
#include "draft_export.h"
#include "draft_ops.h"
#include "edd/attention.h"
#include "edd/module.h"
#include "head_rows.h"
#include "io/model_limits.h"

namespace foretoken::train {
namespace {

using torch::Tensor;

constexpr uint64_t kBlockStream = 0x626c6f636b;

EddParts PartsOf(const Recipe& r) {
  return {r.Number("encoder") != 0.0, r.Number("train_embedding") != 0.0,
          r.Number("train_head") != 0.0};
}

// Returns the Hugging Face index of the hidden state that the draft attends to. The setting
// `layer` counts from the end if it is negative.
Result<int> TapOf(const Recipe& r) {
  const auto states = static_cast<double>(r.layers + 1);
  const double layer = r.Number("layer"), index = layer < 0.0 ? layer + states : layer;
  if (index == std::floor(index) && index >= 0.0 && index < states) return static_cast<int>(index);
  return Error{"layer is '" + r.Text("layer") + "', expected a hidden state of the target: -" +
               std::to_string(r.layers + 1) + " to " + std::to_string(r.layers)};
}

// Returns the rows whose token and next token both have a loss. Drafts begin after a token of the
// answer, so the first token of an answer is never drafted.
Tensor LossRows(const Batch& batch) {
  return batch.inner.gt(0).logical_and(batch.weights.gt(0)).nonzero().squeeze(1);
}

class EddTask final : public DraftTask {
 public:
  EddTask(const Recipe& r, int tap, std::shared_ptr<FrozenTarget> target, torch::Device device)
      : target_(std::move(target)),
        module_(*target_, PartsOf(r), WeightOptionsOf(r, device)),
        tap_(tap),
        uses_distillation_(r.Text("loss") == "kl"),
        block_min_(static_cast<int64_t>(r.Number("block_min"))),
        block_max_(static_cast<int64_t>(r.Number("block_max"))),
        steps_(static_cast<int64_t>(r.Number("eval_steps"))),
        block_key_(Mix(Mix(static_cast<uint64_t>(r.seed)) ^ kBlockStream)) {}

  WeightSet& weights() override { return module_.weights(); }

  double CountLossTerms(const Batch& batch) const override {
    return static_cast<double>(LossRows(batch).size(0));
  }

  Metrics Learn(const Batch& batch, double scale) override {
    const TargetOutputs target_outputs =
        uses_distillation_ || module_.encodes() ? RunTarget(batch) : TargetOutputs{};
    const int64_t block = BlockLengthOf(batch);
    const Tensor outputs =
        module_.Forward(Inputs(batch, target_outputs, BlockStarts(batch, block), block));
    const Tensor loss = Loss(outputs, target_outputs.features, batch, scale);
    if (loss.requires_grad()) loss.backward();
    return {{"loss", loss.item<double>()}, {"block", static_cast<double>(block)}};
  }

  // A trained part costs three forward passes: forward, input gradients, weight gradients. A frozen
  // head has no weight gradients, so it costs two. The target is only run forward.
  double Flops(const Batch& batch) const override {
    const int64_t rows = batch.batch * batch.length;
    const auto loss_rows = static_cast<int64_t>(CountLossTerms(batch));
    const double head_flops = Head().target.Share() * target_->HeadFlops(loss_rows);
    double total = 3.0 * module_.ForwardFlops(rows, batch.length) +
                   (module_.head().masters.empty() ? 2.0 : 3.0) * head_flops;
    if (uses_distillation_ || module_.encodes()) total += target_->FeatureFlops(rows, batch.length);
    return uses_distillation_ ? total + head_flops : total;
  }

 private:
  // The target's outputs for a batch: what the draft's encoder and its loss need.
  struct TargetOutputs {
    Tensor features;  // [rows, hidden], compute type
    HiddenState state;
  };

  int64_t steps() const override { return steps_; }
  HeldOut EvaluateHeldOut(const Batch& batch) override;

  TargetOutputs RunTarget(const Batch& batch) {
    TargetOutputs target_outputs{{}, {tap_, {}}};
    target_outputs.features =
        target_->Features(batch, module_.encodes() ? &target_outputs.state : nullptr);
    return target_outputs;
  }

  // Derives the batch's block length from the seed and the batch number: a resumed run repeats it.
  int64_t BlockLengthOf(const Batch& batch) const {
    const auto choices = static_cast<uint64_t>(block_max_ - block_min_ + 1);
    return block_min_ + static_cast<int64_t>(Mix(block_key_ ^ batch.number) % choices);
  }

  EddInputs Inputs(const Batch& batch, const TargetOutputs& target_outputs, const Tensor& starts,
                   int64_t longest) const {
    return {batch.batch,
            batch.length,
            batch.ids,
            batch.first_key,
            target_outputs.state.value,
            starts.to(batch.first_key.device()),
            longest};
  }

  LossHead Head() const { return target_->LossHeadOf(module_.head()); }

  // Row p of the draft's outputs and row p of the target's features both predict token p + 1.
  Tensor Loss(const Tensor& outputs, const Tensor& features, const Batch& batch, double scale) {
    const LossHead scores = Head();
    const Tensor all_rows = LossRows(batch);
    const HeadRows at = scores.target.Scored({all_rows, batch.targets.index_select(0, all_rows)});
    const Tensor states = outputs.index_select(0, at.rows);
    if (uses_distillation_) {
      return DistillationLoss(states, scores.draft, features.index_select(0, at.rows),
                              scores.target.rows(), scale, kLossChunk);
    }
    return HeadLoss(states, scores.draft, at.targets, scale);
  }

  std::shared_ptr<FrozenTarget> target_;
  EddModule module_;
  int tap_;
  bool uses_distillation_;
  int64_t block_min_, block_max_, steps_;
  uint64_t block_key_;
};

// Simulates each draft step at every position. The loss is computed on blocks of `steps_` tokens.
HeldOut EddTask::EvaluateHeldOut(const Batch& batch) {
  const TargetOutputs target_outputs = RunTarget(batch);
  const auto outputs = [&](const Tensor& starts) {
    return module_.Forward(Inputs(batch, target_outputs, starts, steps_));
  };
  const Tensor blocks = outputs(BlockStarts(batch, steps_));
  HeldOut held_out{Loss(blocks, target_outputs.features, batch, 1.0).item<double>(),
                   CountLossTerms(batch),
                   Likeliest(target_outputs.features, target_->head()),
                   {}};
  std::vector<Tensor>& guesses = held_out.guesses;
  for (int64_t step = 0; step < steps_; ++step) {
    // VDM has no blocks, so its outputs do not depend on the step.
    if (step > 0 && !module_.encodes()) {
      guesses.push_back(guesses.back());
      continue;
    }
    const Tensor rows = module_.encodes() ? outputs(StepStarts(batch.first_key, step)) : blocks;
    // Row r predicts token r + 1 here, but token r + 2 in DraftAccuracy::Add.
    const LossHead scores = Head();
    const Tensor guess = Likeliest(rows, scores.draft.compute);
    guesses.push_back(scores.target.Tokens(guess).roll(-1, 0));
  }
  return held_out;
}

Status CheckSettings(const Recipe& r) {
  if (r.Number("block_max") < r.Number("block_min")) {
    return Error{"block_max is '" + r.Text("block_max") + "', expected at least block_min ('" +
                 r.Text("block_min") + "')"};
  }
  return {};
}

Result<Prepared> Prepare(const TrainOptions& options, torch::Device device) {
  FT_RETURN_IF_ERROR(CheckSettings(options.recipe));
  FT_ASSIGN_OR_RETURN(DraftPreparation draft, PrepareDraft(options, device));
  FT_ASSIGN_OR_RETURN(const int tap, TapOf(draft.recipe));
  Prepared prepared = StartOf(draft);
  prepared.task = std::make_unique<EddTask>(prepared.recipe, tap, std::move(draft.target), device);
  return prepared;
}

Status Export(const ExportRequest& request, const CheckpointInfo& info) {
  const EddParts parts = PartsOf(info.recipe);
  DraftInfo draft;
  if (parts.encoder) {
    FT_ASSIGN_OR_RETURN(const int tap, TapOf(info.recipe));
    draft.taps = {tap};
    draft.block_size = static_cast<int>(info.recipe.Number("block_max"));
  }
  if (!parts.train_embedding) draft.shared.emplace_back(kSharedEmbedding);
  if (!parts.train_head) draft.shared.emplace_back(kSharedHead);
  return ExportDraft(request, info, std::move(draft), 1, EddSpec::OwnName);
}

constexpr std::array<Setting, 10> kSettings = {{
    kTargetSetting,
    {"encoder", "1", Whole(0, 1), "0: a draft that attends to tokens only (VDM)", Change::kNever},
    {"layer", EddSpec::kTapSetting, Whole(-kMostLayers, kMostLayers),
     "hidden state used as the soft prompt; 0: embeddings, -1: the last"},
    {"loss", "kl", OneOf("kl ce"), "kl: the target's distribution; ce: the text's tokens"},
    {"block_min", "5", Whole(1, 128),
     "minimum tokens per block; the length is drawn for each batch"},
    {"block_max", "10", Whole(1, 128), "maximum tokens per block"},
    {"train_embedding", "1", Whole(0, 1), "0: the target's embedding", Change::kNever},
    {"train_head", "1", Whole(0, 1), "0: the target's LM head", Change::kNever},
    kScoredSetting,
    {"eval_steps", "5", Whole(1, 16), "draft steps evaluated on held-out text", Change::kFree},
}};

}  // namespace

extern const Method kMethod_edd;
const Method kMethod_edd = {EddSpec::kMethod.data(),
                            "a layer that attends to the target's hidden states as a soft prompt",
                            kSettings,
                            &Prepare,
                            &Export,
                            {.rate = 0.001,
                             .settings = {{{"train_embedding", "0"}, {"train_head", "0"}}},
                             .scored = kScoredTokens},
                            &EddSpec::OwnName};

}  // namespace foretoken::train
