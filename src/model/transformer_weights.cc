#include <string>

#include "model/transformer.h"

namespace foretoken {

std::string_view HeadName(const ModelConfig& config) {
  return config.tied_embeddings ? "token_embd.weight" : "output.weight";
}

Result<TransformerWeights> LoadTransformerWeights(const ModelConfig& config,
                                                  std::unique_ptr<WeightSource> source,
                                                  const ModelOptions& options) {
  for (const Token token : options.head_tokens) {
    if (token >= 0 && token < config.vocab) continue;
    return Error{"token " + std::to_string(token) + " is to be scored, expected 0 to " +
                 std::to_string(config.vocab - 1)};
  }
  WeightLoader loader(*source);
  TransformerWeights weights;
  // The largest matrices first: while one loads, its pages of the file and its copy are both in
  // memory.
  weights.embedding = loader.Matrix("token_embd.weight", config.vocab, config.hidden);
  if (!options.head_tokens.empty()) {
    FT_ASSIGN_OR_RETURN(weights.head,
                        source->PickRows(std::string(HeadName(config)), config.vocab, config.hidden,
                                         options.head_tokens, options.head_type));
  } else if (!config.tied_embeddings) {
    weights.head = loader.Matrix("output.weight", config.vocab, config.hidden);
  }
  for (int layer = 0; layer < config.layers && loader.status().ok(); ++layer) {
    weights.layers.push_back(loader.Layer(config, layer));
  }
  weights.final_norm = loader.Vector("output_norm.weight", config.hidden);
  FT_RETURN_IF_ERROR(loader.status());
  weights.source = std::move(source);
  return weights;
}

}  // namespace foretoken
