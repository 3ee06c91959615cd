// `foretoken train eagle` and `train hass`: one module, HASS with its two harmonisations.
#include <array>
#include <cmath>
#include <cstdio>

#include "base/rng.h"
#include "draft_export.h"
#include "draft_ops.h"
#include "eagle/loss.h"
#include "eagle/module.h"
#include "op_dispatch.h"
#include "target.h"

namespace foretoken::train {
namespace {

using torch::Tensor;

constexpr int64_t kLossChunk = 512;  // rows of logits held at once
constexpr uint64_t kNoiseStream = 0x6e6f697365;

EagleLossOptions LossOptions(const Recipe& r) {
  EagleLossOptions options;
  options.feature = r.Number("feature_weight");
  options.soft = r.Number("soft_weight");
  options.hard = r.Number("topk_weight");
  options.top = static_cast<int64_t>(r.Number("topk"));
  options.pass_weights.clear();
  const double beta = r.Number("beta");
  for (int64_t pass = 0; pass < static_cast<int64_t>(r.Number("passes")); ++pass) {
    options.pass_weights.push_back(std::pow(beta, static_cast<double>(pass)));
  }
  return options;
}

// Uniform noise on features (methods.md 5.5): (U - 0.5) * amount * 512 / T, T the document's length
// in the sequence. Addressed by seed and batch, so a resumed run repeats it.
void AddNoise(double amount, uint64_t key, const Batch& batch, const Tensor& features) {
  const int64_t width = features.size(1);
  const Tensor extent = batch.extent.to(torch::kCPU);
  Tensor noise = torch::empty(features.sizes(), torch::kFloat32);
  float* out = Data<float>(noise);
  ForRows(features.size(0), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const double rows = std::max(1.0f, Data<float>(extent)[row]);
      const auto scale = static_cast<float>(amount * 512.0 / rows);
      for (int64_t i = row * width; i < (row + 1) * width; ++i) {
        const auto bits = static_cast<uint32_t>(Mix(key ^ static_cast<uint64_t>(i)) >> 40);
        out[i] = (static_cast<float>(bits) * 0x1.0p-24f - 0.5f) * scale;
      }
    }
  });
  Tensor noisy = features;
  noisy.add_(noise.to(features.device()));
}

class EagleTask final : public Task {
 public:
  EagleTask(const Recipe& recipe, std::shared_ptr<FrozenTarget> target, torch::Device device)
      : target_(std::move(target)),
        module_(target_->shape(),
                {ComputeType(recipe), device, NormalWeights(static_cast<uint64_t>(recipe.seed))}),
        options_(LossOptions(recipe)),
        noise_(recipe.Number("noise")),
        steps_(static_cast<int64_t>(recipe.Number("eval_steps"))),
        noise_key_(Mix(Mix(static_cast<uint64_t>(recipe.seed)) ^ kNoiseStream)) {}

  WeightSet& weights() override { return module_.weights(); }

  double Learnt(const Batch& batch) const override { return batch.inner.sum().item<double>(); }

  Metrics Learn(const Batch& batch, double scale) override {
    const Tensor features = target_->Features(batch);
    const EagleInputs inputs = Inputs(batch, features, noise_);
    const auto passes = static_cast<int64_t>(options_.pass_weights.size());
    EagleLossParts parts;
    const Tensor loss = EagleLoss(module_.Forward(inputs, passes), features, target_->head(),
                                  Rows(batch), options_, scale, kLossChunk, parts);
    loss.backward();
    return {{"loss", loss.item<double>()},
            {"feature_loss", parts.feature * scale},
            {"token_loss", parts.tokens * scale}};
  }

  Metrics Evaluate(const std::vector<Batch>& batches) override;
  std::string Summary(const Metrics& evaluated) const override;

  double Flops(const Batch& batch) const override {
    const int64_t rows = batch.batch * batch.length;
    const auto learnt = static_cast<int64_t>(Learnt(batch));
    const auto passes = static_cast<double>(options_.pass_weights.size());
    // Inputs of fc have no gradient, nor has the LM head.
    const double module = 3.0 * module_.PassFlops(rows, batch.length) + 2.0 * module_.FcFlops(rows);
    return target_->FeatureFlops(rows, batch.length) + passes * module +
           (1.0 + 2.0 * passes) * target_->HeadFlops(learnt);
  }

 private:
  EagleInputs Inputs(const Batch& batch, const Tensor& features, double noise) const {
    EagleInputs inputs{batch.batch, batch.length, target_->Embeddings(batch.targets), features,
                       batch.first_key};
    if (noise > 0.0) {
      inputs.features = features.clone();
      AddNoise(noise, Mix(noise_key_ ^ batch.number), batch, inputs.features);
    }
    return inputs;
  }
  static Tensor Rows(const Batch& batch) { return batch.inner.nonzero().squeeze(1); }

  std::shared_ptr<FrozenTarget> target_;
  EagleModule module_;
  EagleLossOptions options_;
  double noise_;
  int64_t steps_;
  uint64_t noise_key_;
};

// The token that the LM head makes likeliest of each row, chunk by chunk.
Tensor Likeliest(const Tensor& features, const Tensor& head) {
  std::vector<Tensor> ids;
  for (const Tensor& part : features.split(kLossChunk)) {
    ids.push_back(at::mm(part.to(head.scalar_type()), head.t()).argmax(1));
  }
  return torch::cat(ids);
}

// methods.md 5.7: drafting from every prefix whose text is what the target says, step k is right
// where its token is the target's; drafting ends at the first miss, and where the text leaves the
// target. alpha_k is the share of right steps among those that were reached.
Metrics EagleTask::Evaluate(const std::vector<Batch>& batches) {
  torch::NoGradGuard no_grad;
  std::vector<double> right(steps_), reached(steps_);
  double loss = 0.0, rows_learnt = 0.0;
  for (const Batch& batch : batches) {
    const Tensor features = target_->Features(batch);
    const Tensor outputs = module_.Forward(Inputs(batch, features, 0.0), steps_);
    const int64_t rows = features.size(0);
    EagleLossOptions one = options_;
    one.pass_weights = {1.0};
    EagleLossParts parts;
    loss += EagleLoss(outputs.narrow(0, 0, rows), features, target_->head(), Rows(batch), one, 1.0,
                      kLossChunk, parts)
                .item<double>();
    rows_learnt += Learnt(batch);
    const Tensor said = Likeliest(features, target_->head());
    const Tensor follows = said.eq(batch.targets).logical_and(batch.inner.gt(0));
    const Tensor wanted = said.roll(-1, 0);
    Tensor alive = torch::ones({rows}, follows.options());  // by the row of the step
    for (int64_t step = 0; step < steps_; ++step) {
      const Tensor guess = Likeliest(outputs.narrow(0, step * rows, rows), target_->head());
      alive = alive.logical_and(follows);
      reached[step] += alive.sum().item<double>();
      alive = alive.logical_and(guess.eq(wanted));
      right[step] += alive.sum().item<double>();
      alive = alive.roll(1, 0);
      alive[0] = false;
    }
  }
  Metrics metrics = {{"heldout_loss", loss / std::max(rows_learnt, 1.0)}};
  double length = 1.0, product = 1.0;
  for (int64_t step = 0; step < steps_; ++step) {
    const double alpha = right[step] / std::max(reached[step], 1.0);
    metrics.emplace_back("alpha_" + std::to_string(step + 1), alpha);
    length += product *= alpha;
  }
  metrics.emplace_back("tau", length);
  return metrics;
}

std::string EagleTask::Summary(const Metrics& evaluated) const {
  std::string text = "alpha";
  for (const auto& [name, value] : evaluated) {
    if (name.rfind("alpha_", 0) != 0 && name != "tau") continue;
    char number[16];
    std::snprintf(number, sizeof(number), name == "tau" ? " tau %.2f" : " %.2f", value);
    text += number;
  }
  return text;
}

Status CheckSettings(const Recipe& r) {
  for (const char* name : {"passes", "eval_steps"}) {
    if (r.Number(name) < 1.0 || r.Number(name) > 16.0) {
      return Error{std::string(name) + " is " + r.Text(name) + ", expected 1 .. 16"};
    }
  }
  if (r.Number("topk") < 0.0 || r.Number("topk") > static_cast<double>(kMostTopTokens)) {
    return Error{"topk is " + r.Text("topk") + ", expected 0 .. " + std::to_string(kMostTopTokens)};
  }
  return {};
}

Result<Prepared> Prepare(const TrainOptions& options, torch::Device device) {
  FT_RETURN_IF_ERROR(CheckSettings(options.recipe));
  FT_ASSIGN_OR_RETURN(DraftPreparation draft, PrepareDraft(options, device));
  Prepared prepared{std::move(draft.recipe), std::move(draft.corpus), nullptr};
  prepared.task = std::make_unique<EagleTask>(prepared.recipe, std::move(draft.target), device);
  return prepared;
}

Status Export(const ExportRequest& request, const CheckpointInfo& info) {
  DraftInfo draft;
  draft.taps = {static_cast<int>(info.recipe.layers)};
  draft.shared = {std::string(kSharedEmbedding), std::string(kSharedHead)};
  return ExportDraft(request, info, std::move(draft), 1, LayerDraftName);
}

constexpr std::array<Setting, 9> Settings(const char* passes, const char* topk_weight) {
  return {{
      kTargetSetting,
      {"passes", passes, "alignment passes; 1 = the target's features only"},
      {"beta", "1", "pass j's loss is weighted with beta^(j-1)"},
      {"topk", "10", "tokens of the Top-K loss"},
      {"topk_weight", topk_weight, "weight of the Top-K loss"},
      {"soft_weight", "0.1", "weight of the cross-entropy with the target's distribution"},
      {"feature_weight", "1", "weight of SmoothL1 between features"},
      {"noise", "0.2", "uniform noise on the target's features, times 512 / length"},
      {"eval_steps", "5", "steps of held-out drafting"},
  }};
}
constexpr auto kEagle = Settings("1", "0");
constexpr auto kHass = Settings("3", "1");

}  // namespace

extern const Method kMethod_eagle, kMethod_hass;
const Method kMethod_eagle = {"eagle", "a draft layer that guesses the target's next feature",
                              kEagle, &Prepare, &Export};
const Method kMethod_hass = {"hass", "eagle, trained on its own guesses and on likely tokens",
                             kHass, &Prepare, &Export};

}  // namespace foretoken::train
