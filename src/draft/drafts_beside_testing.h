// A target in a folder of its own, for tests of the drafts that lie beside it.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "draft/test_options.h"
#include "io/model_files_testing.h"

namespace foretoken {

class DraftsBesideTest : public ::testing::Test {
 protected:
  DraftsBesideTest() {
    config_ = *ShapeByName("tiny");
    config_.vocab = 41;
    backend_ = *NewCpuBackend({.threads = 1});
    weights_ = NewRandomWeights(DType::kF32, 1, *backend_);
    model_ = *NewRandomModel(config_, DType::kF32, 1, *backend_);
    tokenizer_ = ToyTokenizer(config_.vocab);
    std::filesystem::create_directories(drafts());
  }

  std::string target_path() const { return folder_ / "model.gguf"; }
  std::string drafts() const { return folder_ / "drafts"; }
  // The options of `drafter` with the file that tests make for it, written to PATH.gguf.
  Json Make(std::string_view drafter, const std::string& path) {
    const auto texts = [] { return std::vector<std::vector<Token>>{{1, 2, 3, 1, 2, 3}}; };
    return TestOptions(drafter, {config_, *tokenizer_, *weights_, *backend_, texts, path});
  }

  TemporaryDirectory folder_;
  ModelConfig config_;
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<WeightSource> weights_;
  std::unique_ptr<Model> model_;
  std::shared_ptr<const Tokenizer> tokenizer_;
};

}  // namespace foretoken
