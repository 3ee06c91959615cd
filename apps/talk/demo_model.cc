#include "apps/talk/demo_model.h"

#include <algorithm>
#include <filesystem>
#include <vector>

namespace foretoken {
namespace {

namespace fs = std::filesystem;

constexpr char kPreferred[] = "smollm2-135m-instruct-q4_1.gguf";

// The preferred model in `folder`, or "".
std::string ModelIn(const fs::path& folder) {
  std::error_code fault;
  if (fs::is_regular_file(folder / kPreferred, fault)) return (folder / kPreferred).string();
  std::vector<std::string> found;
  for (const auto& entry : fs::directory_iterator(folder, fault)) {
    if (entry.path().extension() == ".gguf") found.push_back(entry.path().string());
  }
  return found.empty() ? "" : *std::ranges::min_element(found);
}

}  // namespace

std::string FindDemoModel() {
  constexpr int kMostLevels = 5;
  std::error_code fault;
  std::string without_drafts;
  fs::path folder = fs::path(ThisProgram()).parent_path();
  for (int level = 0; level < kMostLevels && !folder.empty(); ++level) {
    const std::string model = ModelIn(folder / "models");
    if (!model.empty() && fs::is_directory(folder / "models" / "drafts", fault)) return model;
    if (without_drafts.empty()) without_drafts = model;
    folder = folder.parent_path();
  }
  return without_drafts;
}

std::string ThisProgram() {
  std::error_code fault;
  return fs::read_symlink("/proc/self/exe", fault).string();
}

std::string ShortPath(const std::string& path) {
  if (path.empty()) return path;
  std::error_code fault;
  const std::string relative = fs::proximate(path, fault).string();
  return fault || relative.empty() || relative.size() >= path.size() ? path : relative;
}

}  // namespace foretoken
