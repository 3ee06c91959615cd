// `foretoken train glide` and `train vanilla` (G-24): a small language model. In glide it has
// cross-attention to the keys and values of its frozen target, in vanilla it has none.
#include <array>

#include "draft/glide/glide_spec.h"
#include "draft_accuracy.h"
#include "draft_export.h"
#include "export.h"
#include "glide/cross_attention.h"
#include "glide/module.h"
#include "io/draft_keys.h"
#include "io/model_limits.h"
#include "target.h"

namespace foretoken::train {
namespace {

using torch::Tensor;

bool HasCrossAttention(const Recipe& recipe) { return recipe.method == GlideSpec::kMethod; }

// Returns a setting's value, or `fallback` if the value is 0, the default.
int64_t NumberOr(const Recipe& recipe, const std::string& setting, int64_t fallback) {
  const auto value = static_cast<int64_t>(recipe.Number(setting));
  return value == 0 ? fallback : value;
}

// Returns the target's shape, changed as the settings say. The draft has as many key-value heads as
// query heads.
LlamaShape DraftShape(const Recipe& r) {
  LlamaShape s = ShapeOf(ConfigOf(r));
  s.layers = static_cast<int64_t>(r.Number("draft_layers"));
  s.hidden = NumberOr(r, "draft_hidden", r.hidden);
  s.ffn = NumberOr(r, "draft_ffn", r.ffn);
  s.heads = s.kv_heads = NumberOr(r, "draft_heads", r.heads);
  s.head_dim = s.rope_dim = s.hidden / s.heads;
  s.tied_embeddings = false;
  return s;
}

// Returns the target's layers (0-based) that the draft's layers attend to. The setting `kv_layer`
// (1-based) names the last of them.
std::vector<int> KvLayers(const Recipe& r) {
  if (!HasCrossAttention(r)) return {};
  return GlideSpec::KvLayers(static_cast<int>(r.Number("draft_layers")),
                             static_cast<int>(NumberOr(r, "kv_layer", r.layers)));
}

class GlideTask final : public DraftTask {
 public:
  GlideTask(const Recipe& recipe, std::shared_ptr<FrozenTarget> target, torch::Device device)
      : target_(std::move(target)),
        kv_layers_(KvLayers(recipe)),
        module_({DraftShape(recipe), target_->shape(), HasCrossAttention(recipe)},
                WeightOptionsOf(recipe, device)),
        block_(HasCrossAttention(recipe) ? static_cast<int64_t>(recipe.Number("block")) : 0),
        steps_(static_cast<int64_t>(recipe.Number("eval_steps"))) {}

  WeightSet& weights() override { return module_.weights(); }

  double CountLossTerms(const Batch& batch) const override {
    return batch.weights.sum().item<double>();
  }

  Metrics Learn(const Batch& batch, double scale) override {
    GlideInputs inputs = Inputs(batch);
    if (has_cross_attention()) inputs.last_key = BlockKeys(batch.first_key, block_);
    const Tensor loss = Loss(module_.Forward(inputs), batch, scale);
    loss.backward();
    return {{"loss", loss.item<double>()}};
  }

  // The target runs only up to the keys and values of the last layer that the draft attends to.
  double Flops(const Batch& batch) const override {
    const int64_t rows = batch.batch * batch.length;
    const double target_flops =
        has_cross_attention() ? target_->KeysValuesFlops(rows, batch.length, kv_layers_) : 0.0;
    return target_flops + 3.0 * module_.Flops(rows, batch.length);
  }

 private:
  int64_t steps() const override { return steps_; }
  HeldOut EvaluateHeldOut(const Batch& batch) override;
  bool has_cross_attention() const { return !kv_layers_.empty(); }

  // Makes the inputs without last_key.
  GlideInputs Inputs(const Batch& batch) {
    GlideInputs inputs{batch.batch, batch.length, batch.ids, batch.first_key, {}, {}};
    if (has_cross_attention()) inputs.keys_values = target_->KeysValues(batch, kv_layers_);
    return inputs;
  }

  Tensor Loss(const Tensor& outputs, const Batch& batch, double scale) const {
    return LmLoss(outputs, module_.head(), batch.targets, batch.weights, scale, kLossChunk);
  }

  std::shared_ptr<FrozenTarget> target_;
  std::vector<int> kv_layers_;
  GlideModule module_;
  int64_t block_;
  int64_t steps_;
};

// Row r of step k reads token r and has k drafted tokens before it. It predicts token r + 1 here,
// but token r + 2 in DraftAccuracy::Add, hence the shift by one row. The result is exact for drafts
// of one layer. In deeper drafts, the later layers' keys depend on the mask over the target's
// positions. Here all rows have the mask of step k, but in drafting each row had the mask of its
// own step.
HeldOut GlideTask::EvaluateHeldOut(const Batch& batch) {
  GlideInputs inputs = Inputs(batch);
  if (has_cross_attention()) inputs.last_key = BlockKeys(batch.first_key, block_);
  Tensor outputs = module_.Forward(inputs);
  HeldOut held_out{Loss(outputs, batch, 1.0).item<double>(),
                   CountLossTerms(batch),
                   Likeliest(target_->Features(batch), target_->head()),
                   {}};
  std::vector<Tensor>& guesses = held_out.guesses;
  for (int64_t step = 0; step < steps_; ++step) {
    if (has_cross_attention()) {
      inputs.last_key = StepKeys(batch.first_key, step);
      outputs = module_.Forward(inputs);
    }
    const bool has_new_outputs = has_cross_attention() || step == 0;
    guesses.push_back(has_new_outputs ? Likeliest(outputs, module_.head().compute).roll(-1, 0)
                                      : guesses.back());
  }
  return held_out;
}

Status CheckShape(const Recipe& r) {
  const LlamaShape s = DraftShape(r);
  if (s.heads < 1 || s.hidden % (2 * s.heads) != 0 || s.ffn < 1) {
    return Error{"draft_hidden is " + std::to_string(s.hidden) + ", draft_heads " +
                 std::to_string(s.heads) + " and draft_ffn " + std::to_string(s.ffn) +
                 ", expected an even width of each head and no value below 1"};
  }
  const std::vector<int> layers = KvLayers(r);
  if (layers.empty() || (layers.front() >= 0 && layers.back() < r.layers)) return {};
  if (std::ssize(layers) > r.layers) {
    return Error{"draft_layers is " + std::to_string(layers.size()) +
                 ", expected at most one for each of the target's " + std::to_string(r.layers)};
  }
  return Error{"kv_layer is " + r.Text("kv_layer") + ", expected " + std::to_string(layers.size()) +
               " to " + std::to_string(r.layers)};
}

Result<Prepared> Prepare(const TrainOptions& options, torch::Device device) {
  FT_ASSIGN_OR_RETURN(DraftPreparation draft, PrepareDraft(options, device));
  FT_RETURN_IF_ERROR(CheckShape(draft.recipe));
  return WithTask<GlideTask>(std::move(draft), device);
}

// Exports a draft of either method for the drafter `glide`; `kv_layers` in the file tells the
// methods apart.
Status Export(const ExportRequest& request, const CheckpointInfo& info) {
  DraftInfo draft;
  draft.method = GlideSpec::kMethod;
  draft.kv_layers = KvLayers(info.recipe);
  if (HasCrossAttention(info.recipe)) {
    draft.block_size = static_cast<int>(info.recipe.Number("block"));
  }
  const LlamaShape s = DraftShape(info.recipe);
  draft.blocks.hidden = static_cast<int>(s.hidden);
  draft.blocks.ffn = static_cast<int>(s.ffn);
  draft.blocks.heads = draft.blocks.kv_heads = static_cast<int>(s.heads);
  draft.blocks.head_dim = draft.blocks.rope_dim = static_cast<int>(s.head_dim);
  return ExportDraft(request, info, std::move(draft), static_cast<int>(s.layers),
                     GlideSpec::OwnName);
}

constexpr Setting kLayers = {"draft_layers", "1", Whole(1, 64), "layers of the draft",
                             Change::kNever};
constexpr Setting kHidden = {"draft_hidden", "0", Whole(0, kMostHidden),
                             "width of the draft (0: the target's)", Change::kNever};
constexpr Setting kFfn = {"draft_ffn", "0", Whole(0, kMostFfn),
                          "feed-forward width of the draft (0: the target's)", Change::kNever};
constexpr Setting kHeads = {"draft_heads", "0", Whole(0, kMostHeads),
                            "query heads and key-value heads of the draft (0: the target's)",
                            Change::kNever};
constexpr Setting kSteps = {"eval_steps", "5", Whole(1, 16),
                            "draft steps evaluated on held-out text", Change::kFree};

constexpr std::array kVanilla = {kTargetSetting, kLayers, kHidden, kFfn, kHeads, kSteps};
constexpr std::array kGlide = {
    kTargetSetting,
    kLayers,
    kHidden,
    kFfn,
    kHeads,
    Setting{"block", "5", Whole(1, kMostBlockSize),
            "positions of a block, which attends only to the target before it"},
    Setting{"kv_layer", "0", Whole(0, kMostLayers),
            "the target's layer, from 1, that the last draft layer reads (0: top)"},
    kSteps};

}  // namespace

extern const Method kMethod_glide, kMethod_vanilla;
const Method kMethod_glide = {GlideSpec::kMethod.data(),
                              "a small language model that reads the target's own cache",
                              kGlide,
                              &Prepare,
                              &Export,
                              {.rate = 0.002, .masks_user = false},
                              &GlideSpec::OwnName};
const Method kMethod_vanilla = {
    "vanilla",
    "glide without attention to the target",
    kVanilla,
    &Prepare,
    &Export,
    {.rate = 0.002, .masks_user = false, .drafter = GlideSpec::kMethod.data()},
    &GlideSpec::OwnName};

}  // namespace foretoken::train
