// What the tests of trained drafters stand on: a tiny target of random weights, and a file for its
// draft.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "draft/drafter.h"
#include "draft/test_options.h"
#include "io/model_files_testing.h"

namespace foretoken {

class TrainedDrafterTest : public testing::Test {
 protected:
  TrainedDrafterTest(std::string drafter, ModelConfig target)
      : drafter_(std::move(drafter)), config_(std::move(target)) {}

  TestTarget Target() {
    const auto texts = [] { return std::vector<std::vector<Token>>{{1, 2, 3, 4, 5}}; };
    return {config_, *tokenizer_, *weights_, *backend_, texts, folder_ / "draft"};
  }

  // The drafter with these options, among which the draft's file must be named.
  Result<std::unique_ptr<Drafter>> Build(const std::string& drafter, const Json& options) {
    return NewDrafter(drafter, {*model_, 64, options, "", tokenizer_.get()});
  }
  // The same with the draft at path_.
  Result<std::unique_ptr<Drafter>> Open(Json options = Json::object()) {
    options["draft"] = path_;
    return Build(drafter_, options);
  }
  // What is wrong, or "built".
  static std::string Complaint(const Result<std::unique_ptr<Drafter>>& built) {
    return built.ok() ? "built" : built.error().message;
  }

  std::string drafter_;
  ModelConfig config_;
  std::shared_ptr<const Tokenizer> tokenizer_ = ToyTokenizer(config_.vocab);
  std::unique_ptr<Backend> backend_ = *NewCpuBackend({.threads = 1});
  std::unique_ptr<WeightSource> weights_ = NewRandomWeights(DType::kF32, 5, *backend_);
  std::unique_ptr<Model> model_ = *NewRandomModel(config_, DType::kF32, 5, *backend_);
  TemporaryDirectory folder_;
  std::string path_ = folder_ / "draft.gguf";
};

}  // namespace foretoken
