// A target in its own folder, for tests of drafts that lie beside it.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "draft/target_fixture_testing.h"

namespace foretoken {

class DraftsBesideTest : public TargetFixture {
 protected:
  // Four layers, because EDD reads the state after the fourth layer from the end.
  DraftsBesideTest() : TargetFixture(TestConfig({.layers = 4})) {
    std::filesystem::create_directories(drafts());
  }

  std::string target_path() const { return folder_ / "model.gguf"; }
  std::string drafts() const { return folder_ / "drafts"; }
  // Writes the file for tests of `drafter` to PATH.gguf; returns the options that name it.
  Json Make(std::string_view drafter, const std::string& path) {
    return TestOptions(drafter, Target(path));
  }
};

}  // namespace foretoken
