#include "model/model.h"

#include "model/model_config.h"
#include "model/transformer.h"
#include "model/weight_source.h"

namespace foretoken {
namespace {

Result<std::unique_ptr<Model>> Build(const ModelConfig& config,
                                     std::unique_ptr<WeightSource> source, Backend& backend,
                                     const ModelOptions& options) {
  FT_ASSIGN_OR_RETURN(TransformerWeights weights,
                      LoadTransformerWeights(config, std::move(source), options));
  return std::unique_ptr<Model>(
      std::make_unique<Transformer>(config, std::move(weights), backend, options));
}

}  // namespace

Result<std::unique_ptr<Model>> LoadModel(const ModelFile& file, Backend& backend,
                                         const ModelOptions& options) {
  FT_RETURN_IF_ERROR(CheckConfig(file.config(), file.path()));
  return Build(file.config(), NewFileWeights(file, backend, FileValues::kFinite), backend, options);
}

Result<std::unique_ptr<Model>> NewRandomModel(const ModelConfig& config, DType type, uint64_t seed,
                                              Backend& backend, const ModelOptions& options) {
  FT_RETURN_IF_ERROR(CheckConfig(config, "random model"));
  if (type == DType::kI32)
    return Error{"random model: weights cannot be I32; expected a float type"};
  return Build(config, NewRandomWeights(type, seed, backend), backend, options);
}

}  // namespace foretoken
