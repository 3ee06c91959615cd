// Weights of tests' models as numbers, and drafts of numbers as files.
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

// A matrix of `source`, row-major [rows, cols].
std::vector<float> MatrixValues(WeightSource& source, Backend& backend, const std::string& name,
                                int64_t rows, int64_t cols);
std::vector<float> VectorValues(WeightSource& source, Backend& backend, const std::string& name,
                                int64_t n);

// [vocab] what most often follows each token in `texts`; token 0 where nothing does.
std::vector<Token> CommonFollowers(const std::vector<std::vector<Token>>& texts, int vocab);

// [hidden, hidden] whose product with the embedding of x points to the LM head's row of what
// commonly follows x: a sum of outer products, nearly exact as embeddings are nearly orthogonal.
std::vector<float> FollowerMatrix(const TestTarget& target);

// Tensors of a draft under construction.
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
  // "blk.INDEX.*" of random values; what it adds to the residual stream is scaled by `strength`.
  // `attention_input`: see WeightLoader::Layer.
  void AddLayer(const ModelConfig& config, int index, float strength, bool attention_norm,
                int64_t attention_input = 0);
  std::vector<float>& values(const std::string& name);
  // Checks that the file could be written.
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

// Draft geometry and fingerprint for a target: `layers` decoder layers like its own.
DraftInfo InfoFor(const ModelConfig& target, const TokenizerData& tokenizer, std::string method,
                  int layers);

}  // namespace foretoken
