// For tests: reads a target's weights as floats, and builds draft files from floats.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "draft/test_options.h"
#include "io/draft_file.h"
#include "io/draft_modules.h"
#include "model/weight_source.h"

namespace foretoken {

// The values of a matrix of `source`, row-major [rows, cols].
std::vector<float> MatrixValues(WeightSource& source, Backend& backend, const std::string& name,
                                int64_t rows, int64_t cols);
std::vector<float> VectorValues(WeightSource& source, Backend& backend, const std::string& name,
                                int64_t n);

// The most frequent follower of each token in `texts`, [vocab]; token 0 for a token without
// followers.
std::vector<Token> CommonFollowers(const std::vector<std::vector<Token>>& texts, int vocab);

// A matrix [hidden, hidden] that maps each token's embedding to the LM head's row of its most
// common follower. It is a sum of outer products, nearly exact because embeddings are nearly
// orthogonal.
std::vector<float> FollowerMatrix(const TestTarget& target);

// The tensors of a draft under construction.
class DraftBuilder {
 public:
  explicit DraftBuilder(uint64_t seed) : seed_(seed) {}

  void Add(const std::string& name, std::vector<int64_t> shape, std::vector<float> values);
  void Add(const TensorSpec& tensor, std::vector<float> values) {
    Add(tensor.name, tensor.shape, std::move(values));
  }
  // Gaussian values of standard deviation `spread` around `mean`.
  void AddRandom(const std::string& name, std::vector<int64_t> shape, float spread, float mean = 0);
  void AddRandom(const TensorSpec& tensor, float spread, float mean = 0) {
    AddRandom(tensor.name, tensor.shape, spread, mean);
  }
  // Adds random tensors "blk.INDEX.*"; the layer's contribution to the residual stream is scaled by
  // `strength`. `attention_input`: see WeightLoader::Layer.
  void AddLayer(const ModelConfig& config, int index, float strength, bool attention_norm,
                int64_t attention_input = 0);
  // The values of a tensor that was added; valid until the next Add.
  std::vector<float>& values(const std::string& name);
  // Writes the draft file; aborts if it cannot be written.
  void Write(const DraftInfo& info, const std::string& path, FileType type = FileType::kF32) const;

 private:
  struct Item {
    std::string name;
    std::vector<int64_t> shape;
    std::vector<float> values;
  };
  uint64_t seed_;
  std::vector<Item> items_;
};

// Metadata of a draft for `target`: method, fingerprint of the target, and `layers` decoder layers
// of the target's geometry with non-interleaved RoPE. The draft taps the last hidden state and
// shares the target's embedding and LM head.
DraftInfo InfoFor(const ModelConfig& target, const TokenizerData& tokenizer, std::string method,
                  int layers);

}  // namespace foretoken
