// The fixture for tests of drafters: a small target with random weights, its tokenizer, and a
// folder for files.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backend/strict_backend_testing.h"
#include "base/json.h"
#include "draft/drafter.h"
#include "draft/test_options.h"
#include "io/model_config_testing.h"
#include "io/model_files_testing.h"

namespace foretoken {

class TargetFixture : public testing::Test {
 protected:
  explicit TargetFixture(ModelConfig config = TestConfig(), uint64_t seed = 1)
      : config_(std::move(config)), seed_(seed) {}

  // The target as the drafters' StemTestOptions take it (draft/test_options.h). `stem`: PATH/NAME
  // of the files that they make.
  TestTarget Target(std::string stem) {
    const auto texts = [] { return std::vector<std::vector<Token>>{{1, 2, 3, 4, 5}}; };
    return {config_, *tokenizer_, *weights_, *backend_, texts, std::move(stem)};
  }
  Result<std::unique_ptr<Drafter>> Build(std::string_view drafter, const Json& options) {
    return NewDrafter(drafter, {*model_, 64, options, "", tokenizer_.get()});
  }

  ModelConfig config_;
  uint64_t seed_;  // of the weights
  std::shared_ptr<const Tokenizer> tokenizer_ = ToyTokenizer(config_.vocab);
  std::unique_ptr<Backend> backend_ = NewTestedBackend({.threads = 1});
  std::unique_ptr<WeightSource> weights_ = NewRandomWeights(DType::kF32, seed_, *backend_);
  std::unique_ptr<Model> model_ = *NewRandomModel(config_, DType::kF32, seed_, *backend_);
  TemporaryDirectory folder_;
};

}  // namespace foretoken
