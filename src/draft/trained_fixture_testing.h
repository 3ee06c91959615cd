// The fixture for tests of trained drafters: a target and a file for the draft.
#pragma once

#include <string>
#include <utility>

#include "draft/target_fixture_testing.h"

namespace foretoken {

class TrainedDrafterTest : public TargetFixture {
 protected:
  explicit TrainedDrafterTest(std::string drafter, ModelConfig target = TestConfig())
      : TargetFixture(std::move(target), /*seed=*/5), drafter_(std::move(drafter)) {}

  TestTarget Target() { return TargetFixture::Target(folder_ / "draft"); }

  // Builds the drafter with the draft at path_.
  Result<std::unique_ptr<Drafter>> Open(Json options = Json::object()) {
    options["draft"] = path_;
    return Build(drafter_, options);
  }
  // The error message, or "built".
  static std::string Complaint(const Result<std::unique_ptr<Drafter>>& built) {
    return built.ok() ? "built" : built.error().message;
  }

  std::string drafter_;
  std::string path_ = folder_ / "draft.gguf";
};

}  // namespace foretoken
