#include <string>

#include "model/transformer.h"

namespace foretoken {

Result<TransformerWeights> LoadTransformerWeights(const ModelConfig& config,
                                                  std::unique_ptr<WeightSource> source) {
  WeightLoader loader(*source);
  TransformerWeights weights;
  // The largest first: while a matrix loads, its file pages and its copy are both in memory.
  weights.embedding = loader.Matrix("token_embd.weight", config.vocab, config.hidden);
  if (!config.tied_embeddings) {
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
