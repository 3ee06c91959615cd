// `foretoken train lm`: trains a language model, and its tokenizer, from text.
#include <cstdio>

#include "checkpoint.h"
#include "export.h"
#include "method.h"

namespace foretoken::train {
namespace {

class LmTask final : public Task {
 public:
  LmTask(const Recipe& recipe, torch::Device device)
      : model_(ShapeOf(ConfigOf(recipe)), WeightOptionsOf(recipe, device)) {}

  WeightSet& weights() override { return model_.weights(); }

  double CountLossTerms(const Batch& batch) const override {
    return batch.weights.sum().item<double>();
  }

  Metrics Learn(const Batch& batch, double scale) override {
    const torch::Tensor loss = model_.Loss(batch, scale);
    loss.backward();
    return {{"loss", loss.item<double>()}};
  }

  Metrics Evaluate(const std::vector<Batch>& batches) override {
    torch::NoGradGuard no_grad;
    double loss = 0.0, tokens = 0.0;
    for (const Batch& batch : batches) {
      loss += model_.Loss(batch, 1.0).item<double>();
      tokens += CountLossTerms(batch);
    }
    return {{"heldout_loss", loss / std::max(tokens, 1.0)}};
  }

  std::string Summary(const Metrics& evaluated) const override {
    char text[40];
    std::snprintf(text, sizeof(text), "held-out %.3f", evaluated[0].second);
    return text;
  }

  double Flops(const Batch& batch) const override {
    const int64_t rows = batch.batch * batch.length;
    return 3.0 * (model_.ForwardFlops(rows, batch.length) + model_.HeadFlops(rows));
  }

 private:
  Llama model_;
};

Result<Prepared> Prepare(const TrainOptions& options, torch::Device device) {
  FT_ASSIGN_OR_RETURN(PreparedData data, PrepareData(options.recipe, options.data_base, options.out,
                                                     options.quiet, nullptr, options.kept));
  Prepared prepared{options.recipe, std::move(data.corpus), nullptr};
  // A short text may give fewer tokens than requested.
  prepared.recipe.vocab = static_cast<int64_t>(data.tokenizer.tokens.size());
  prepared.task = std::make_unique<LmTask>(prepared.recipe, device);
  return prepared;
}

Status Export(const ExportRequest& request, const CheckpointInfo&) {
  return request.path.ends_with(".gguf")
             ? ExportGguf(request.checkpoint, request.path, request.type)
             : ExportHuggingFace(request.checkpoint, request.path, request.type);
}

}  // namespace

extern const Method kMethod_lm;
const Method kMethod_lm = {
    "lm", "a Llama-architecture language model and its tokenizer", {}, &Prepare, &Export};

}  // namespace foretoken::train
