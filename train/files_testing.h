// A fixture with a temporary folder for the files of one test.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace foretoken::train {

class TemporaryFiles : public testing::Test {
 protected:
  TemporaryFiles() {
    std::string name = testing::TempDir() + "train_XXXXXX";
    directory_ = mkdtemp(name.data());
  }
  ~TemporaryFiles() override { std::filesystem::remove_all(directory_); }

  std::string Write(const std::string& name, const std::string& text) {
    const std::string path = directory_ + "/" + name;
    std::ofstream(path) << text;
    return path;
  }

  std::string directory_;
};

}  // namespace foretoken::train
