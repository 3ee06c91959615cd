// `foretoken train eagle` and `train hass`. Both train the module of eagle/module.h. HASS adds
// alignment passes and losses on the target's most likely tokens.
#include <array>
#include <cmath>
#include <map>

#include "base/rng.h"
#include "chance.h"
#include "draft/eagle/eagle_spec.h"
#include "draft_accuracy.h"
#include "draft_export.h"
#include "draft_ops.h"
#include "eagle/loss.h"
#include "eagle/module.h"
#include "io/model_limits.h"
#include "target.h"

namespace foretoken::train {
namespace {

using torch::Tensor;

constexpr uint64_t kNoiseStream = 0x6e6f697365, kTokenStream = 0x746f6b656e;

EagleLossOptions LossOptions(const Recipe& r) {
  EagleLossOptions options;
  options.feature = r.Number("feature_weight");
  options.soft = r.Number("soft_weight");
  options.normalised_features = r.Number("normalised_features") != 0.0;
  options.hard = r.Number("topk_weight");
  options.objective = FindObjective(r.Text("objective"))->loss;
  options.objective_options = {static_cast<int64_t>(r.Number("topk")), r.Number("topp"),
                               r.Number("objective_temperature")};
  options.pass_weights.clear();
  const double beta = r.Number("beta");
  for (int64_t pass = 0; pass < static_cast<int64_t>(r.Number("passes")); ++pass) {
    options.pass_weights.push_back(std::pow(beta, static_cast<double>(pass)));
  }
  return options;
}

// Returns the options of the module's weights, with initial values as the setting `start` says.
WeightOptions InitialWeights(const Recipe& recipe, torch::Device device,
                             const FrozenTarget& target) {
  WeightOptions options = WeightOptionsOf(recipe, device);
  const std::string start = recipe.Text("start");
  if (start == "random") return options;
  options.initial = [random = options.initial, copies_target = start == "layer",
                     hidden = recipe.hidden, &target](const NewWeight& weight) {
    const std::string_view name = weight.name;
    const bool adds_to_residual =
        name.ends_with("o_proj.weight") || name.ends_with("down_proj.weight");
    if (adds_to_residual) return torch::zeros(weight.shape);
    if (copies_target && name.starts_with(EagleSpec::kLayer)) {
      return target.LastLayer(std::string(name.substr(EagleSpec::kLayer.size())), weight.shape);
    }
    Tensor value = random(weight);
    if (name == EagleSpec{}.ProjectionWeight().published) {
      value.narrow(1, hidden, hidden).copy_(torch::eye(hidden));
    }
    return value;
  };
  return options;
}

// Adds uniform noise to features (H-23): (U - 0.5) * amount * 512 / T, with T the document's length
// in the sequence. `key` is derived from the seed and the batch number, so a resumed run repeats
// the noise.
void AddNoise(double amount, uint64_t key, const Batch& batch, Tensor features) {
  const Tensor bits = DrawnBits(key, features.numel(), 24, features.device());
  const Tensor uniform = bits.to(torch::kFloat32).mul_(0x1.0p-24).sub_(0.5);
  const Tensor rows = batch.extent.to(torch::kFloat64).clamp_min(1.0);
  const Tensor scale = (amount * 512.0 / rows).to(torch::kFloat32).unsqueeze(1);
  features.add_(uniform.view(features.sizes()) * scale);
}

class EagleTask final : public DraftTask {
 public:
  EagleTask(const Recipe& recipe, std::shared_ptr<FrozenTarget> target, torch::Device device)
      : target_(std::move(target)),
        head_(target_->LossHeadOf(target_->head_matrix()).target),
        module_(target_->shape(), InitialWeights(recipe, device, *target_),
                recipe.Number("fc_bias") != 0.0),
        options_(LossOptions(recipe)),
        noise_(recipe.Number("noise")),
        token_alignment_(recipe.Number("token_alignment")),
        step_per_pass_(recipe.Number("step_per_pass") != 0.0),
        steps_(static_cast<int64_t>(recipe.Number("eval_steps"))),
        noise_key_(Mix(Mix(static_cast<uint64_t>(recipe.seed)) ^ kNoiseStream)),
        token_key_(Mix(Mix(static_cast<uint64_t>(recipe.seed)) ^ kTokenStream)) {}

  WeightSet& weights() override { return module_.weights(); }

  double CountLossTerms(const Batch& batch) const override {
    return batch.inner.sum().item<double>();
  }

  int64_t updates() const override { return step_per_pass_ ? passes() : 1; }

  Metrics Learn(const Batch& batch, double scale) override {
    const BatchProgress progress = Begin(batch);
    return Learn(module_.Forward(progress.inputs, passes()), progress.features, batch, options_,
                 scale);
  }

  Metrics LearnPart(const Batch& batch, double scale, int64_t update) override {
    return step_per_pass_ ? LearnPass(batch, scale, update) : Learn(batch, scale);
  }

  double Flops(const Batch& batch) const override {
    const int64_t rows = batch.batch * batch.length;
    const auto loss_rows = static_cast<int64_t>(CountLossTerms(batch));
    const auto count = static_cast<double>(passes());
    // No gradients are computed for fc's inputs and for the LM head.
    const double module = 3.0 * module_.PassFlops(rows, batch.length) + 2.0 * module_.FcFlops(rows);
    // With an update after each pass, the sources of earlier passes are computed again.
    const double recomputed = step_per_pass_ ? count * (count - 1.0) / 2.0 : 0.0;
    return target_->FeatureFlops(rows, batch.length) + count * module +
           recomputed * (2.0 * module_.FcFlops(rows) + 3.0 * module_.QkvFlops(rows)) +
           (1.0 + 2.0 * count) * head_.Share() * target_->HeadFlops(loss_rows);
  }

 private:
  // The features of a batch, and the inputs of its passes so far.
  struct BatchProgress {
    Tensor features;  // the target's
    EagleInputs inputs;
    std::vector<EaglePassInputs> pass_inputs;
  };
  BatchProgress Begin(const Batch& batch) const {
    BatchProgress progress;
    progress.features = target_->Features(batch);
    progress.inputs = Inputs(batch, progress.features, noise_);
    if (token_alignment_ > 0.0) {
      progress.inputs.embeddings_of = DraftedTokens(batch, progress.inputs.embeddings);
    }
    progress.pass_inputs = {EagleModule::FirstInputs(progress.inputs)};
    return progress;
  }
  Metrics LearnPass(const Batch& batch, double scale, int64_t pass);
  Metrics Learn(const Tensor& outputs, const Tensor& features, const Batch& batch,
                const EagleLossOptions& options, double scale) const {
    EagleLossParts parts;
    const Tensor loss =
        EagleLoss(outputs, LossTargets(batch, features), options, scale, kLossChunk, parts);
    loss.backward();
    return {{"loss", loss.item<double>()},
            {"feature_loss", parts.feature_loss * scale},
            {"token_loss", parts.token_loss * scale}};
  }
  int64_t passes() const { return static_cast<int64_t>(options_.pass_weights.size()); }
  EagleLossTargets LossTargets(const Batch& batch, const Tensor& features) const {
    return {features, head_.rows(), LossRowsOf(batch), head_.Scores(batch)};
  }
  // Returns the draft's top tokens among the scored ones.
  Tensor Guesses(const Tensor& outputs) const {
    return head_.Tokens(Likeliest(outputs, head_.rows()));
  }

  EagleInputs Inputs(const Batch& batch, const Tensor& features, double noise) const {
    EagleInputs inputs{batch.batch, batch.length, target_->Embeddings(batch.targets), features,
                       batch.first_key};
    if (noise > 0.0) {
      inputs.features = features.clone();
      AddNoise(noise, Mix(noise_key_ ^ batch.number), batch, inputs.features);
    }
    return inputs;
  }
  // Token alignment (H-27): with probability token_alignment_, later passes read the draft's most
  // likely token instead of the text's.
  auto DraftedTokens(const Batch& batch, const Tensor& embeddings) const
      -> decltype(EagleInputs::embeddings_of) {
    return [this, embeddings, number = batch.number](const Tensor& guessed, int64_t pass) {
      const torch::NoGradGuard no_grad;
      const uint64_t key = Mix(Mix(token_key_ ^ number) ^ static_cast<uint64_t>(pass));
      const Tensor chosen = Chosen(token_alignment_, key, guessed.size(0), guessed.device());
      const Tensor drafted = Guesses(guessed).select(1, 0).to(torch::kInt32);
      return torch::where(chosen.unsqueeze(1), target_->Embeddings(drafted), embeddings);
    };
  }
  int64_t steps() const override { return steps_; }
  HeldOut EvaluateHeldOut(const Batch& batch) override;
  static Tensor LossRowsOf(const Batch& batch) { return batch.inner.nonzero().squeeze(1); }

  std::shared_ptr<FrozenTarget> target_;
  const ScoredHead& head_;
  EagleModule module_;
  EagleLossOptions options_;
  double noise_, token_alignment_;
  bool step_per_pass_;
  // The step's batches by number, if each pass is an update.
  std::map<uint64_t, BatchProgress> progress_;
  int64_t steps_;
  uint64_t noise_key_, token_key_;
};

// Trains on one pass, with the weights that the updates of earlier passes left (H-2). The features
// that earlier passes predicted are not computed again.
Metrics EagleTask::LearnPass(const Batch& batch, double scale, int64_t pass) {
  if (pass == 0) progress_[batch.number] = Begin(batch);
  BatchProgress& progress = progress_.at(batch.number);
  const Tensor outputs = module_.LastPass(progress.inputs, progress.pass_inputs);
  EagleLossOptions options = options_;
  options.pass_weights = {options_.pass_weights[static_cast<size_t>(pass)]};
  Metrics metrics = Learn(outputs, progress.features, batch, options, scale);
  if (pass + 1 < passes()) {
    progress.pass_inputs.push_back(EagleModule::NextInputs(progress.inputs, outputs, pass + 1));
  } else {
    progress_.erase(batch.number);
  }
  return metrics;
}

HeldOut EagleTask::EvaluateHeldOut(const Batch& batch) {
  const Tensor features = target_->Features(batch);
  const Tensor outputs = module_.Forward(Inputs(batch, features, 0.0), steps_);
  const int64_t rows = features.size(0);
  EagleLossOptions first_pass = options_;
  first_pass.pass_weights = {1.0};
  EagleLossParts parts;
  const Tensor loss = EagleLoss(outputs.narrow(0, 0, rows), LossTargets(batch, features),
                                first_pass, 1.0, kLossChunk, parts);
  const Tensor judged = JudgedRows(batch);
  const auto at_judged_rows = [&](const Tensor& tokens) { return AtRows(tokens, judged, rows); };
  const Tensor target_tokens = Likeliest(features.index_select(0, judged), target_->head());
  HeldOut held_out{loss.item<double>(), CountLossTerms(batch), at_judged_rows(target_tokens), {}};
  for (const Tensor& part : outputs.split(rows)) {
    held_out.guesses.push_back(at_judged_rows(Guesses(part.index_select(0, judged))));
  }
  return held_out;
}

Status Export(const ExportRequest& request, const CheckpointInfo& info) {
  DraftInfo draft;
  draft.taps = EagleSpec::Taps(static_cast<int>(info.recipe.layers));
  draft.shared = {std::string(kSharedEmbedding), std::string(kSharedHead)};
  return ExportDraft(request, info, std::move(draft), 1, EagleSpec::OwnName);
}

constexpr std::array<Setting, 18> Settings(const char* passes, const char* topk_weight) {
  return {{
      kTargetSetting,
      {"passes", passes, Whole(1, 16), "alignment passes; 1 = the target's features only"},
      {"step_per_pass", "0", Whole(0, 1),
       "1: each pass updates the weights; 0: one update per step"},
      {"beta", "1", FromTo(0.0, 10.0), "pass j's loss is weighted with beta^(j-1)"},
      {"token_alignment", "0", FromTo(0.0, 1.0),
       "fraction of tokens that passes after the first take from the draft instead of the text"},
      {"objective", "topk",
       OneOf("topk topp normed_topk_linear normed_topk_softmax bidirectional_topk recall bild"),
       "the loss on likely tokens: topk, topp, normed_topk_linear, "
       "normed_topk_softmax, bidirectional_topk, recall or bild"},
      {"topk", "10", Whole(1, kMostTopTokens), "tokens in this loss"},
      {"topp", "0.9", Between(0.0, 1.0), "total probability of these tokens, for topp"},
      {"objective_temperature", "1", AboveTo(0.0, 1000.0),
       "temperature of the ranks in recall and of the differences in bild"},
      {"topk_weight", topk_weight, FromTo(0.0, 1e6), "weight of this loss"},
      {"soft_weight", "0.1", FromTo(0.0, 1e6),
       "weight of the cross-entropy with the target's distribution"},
      {"feature_weight", "1", FromTo(0.0, 1e6), "weight of SmoothL1 between features"},
      {"normalised_features", "0", Whole(0, 1),
       "1: each dimension of features is divided by its root mean square for that loss"},
      kScoredSetting,
      {"noise", "0.2", FromTo(0.0, 1000.0),
       "uniform noise on the target's features, times 512 / length"},
      {"start", "random", OneOf("random feature layer"),
       "feature: fc passes the feature on, and the layer adds nothing to it yet; layer: in "
       "addition, the layer's other weights are those of the target's last layer"},
      {"fc_bias", "1", Whole(0, 1), "0: no bias in fc, as vLLM expects (docs/serve_elsewhere.md)",
       Change::kNever},
      {"eval_steps", "5", Whole(1, 16), "draft steps evaluated on held-out text", Change::kFree},
  }};
}
constexpr auto kEagle = Settings("1", "0");
constexpr auto kHass = Settings("3", "1");

}  // namespace

extern const Method kMethod_eagle, kMethod_hass;
const Method kMethod_eagle = {
    EagleSpec::kMethod.data(),
    "a draft layer that guesses the target's next feature",
    kEagle,
    &PrepareTask<EagleTask>,
    &Export,
    {.rate = 0.0015, .settings = {{{"start", "feature"}}}, .scored = kScoredTokens},
    &EagleSpec::OwnName};
const Method kMethod_hass = {
    EagleSpec::kHassMethod.data(),
    "eagle, trained on its own guesses and on likely tokens",
    kHass,
    &PrepareTask<EagleTask>,
    &Export,
    {.rate = 0.0015, .settings = {{{"start", "feature"}}}, .scored = kScoredTokens},
    &EagleSpec::OwnName};

}  // namespace foretoken::train
