#include "run_files.h"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <vector>

#include "text/documents.h"

namespace foretoken::train {

namespace {

namespace fs = std::filesystem;

constexpr const char* kRunFiles[] = {
    "checkpoint.safetensors", "corpus.bin", "tokenizer_data.json", "log.jsonl",
    "heldout.jsonl",          "draft.gguf", "own_answers.json"};

// Whether a run writes a file of this name, or left it half written when it was killed.
bool IsOfRun(std::string_view name) {
  const auto begins_name = [&](std::string_view prefix) { return name.starts_with(prefix); };
  return std::ranges::any_of(kRunFiles, begins_name) || begins_name("ranks.json") ||
         begins_name("features.") || begins_name("events.out.tfevents");
}

Status CheckIsForRuns(const std::string& out) {
  std::error_code fault;
  bool is_empty = true;
  for (const fs::directory_entry& entry : fs::directory_iterator(out, fault)) {
    if (IsOfRun(entry.path().filename().string())) return {};
    is_empty = false;
  }
  if (is_empty) return {};
  return Error{out +
               ": has files, none of which is a run's; expected a new or empty folder, or "
               "that of a run"};
}

}  // namespace

Status CheckRunFiles(const std::string& out) {
  FT_RETURN_IF_ERROR(CheckIsForRuns(out));
  for (const char* name : kRunFiles) {
    const fs::path path = fs::path(out) / name;
    std::error_code ignored;
    const fs::file_type type = fs::status(path, ignored).type();
    if (type == fs::file_type::not_found || type == fs::file_type::regular) continue;
    return Error{path.string() + ": is not a regular file, but a run writes a file of this name"};
  }
  return {};
}

Status CheckDataAreApart(const Recipe& recipe, const std::string& base, const std::string& out) {
  for (const DataSource& source : recipe.data) {
    std::error_code ignored;
    if (fs::equivalent(fs::path(base) / source.files, out, ignored)) {
      return Error{source.files + ": is the folder of training data, and the run in " + out +
                   " would write its log there, where data are read; choose another --out"};
    }
    const auto files = ListDataFiles(source.files, base);
    if (!files.ok()) continue;  // reported when the data are read
    for (const std::string& file : *files) {
      for (const char* name : kRunFiles) {
        if (!fs::equivalent(file, fs::path(out) / name, ignored)) continue;
        return Error{file + ": is training data, and the run in " + out +
                     " would write to it; choose another --out"};
      }
    }
  }
  return {};
}

std::string NormalPath(const std::string& path) {
  fs::path normal = fs::path(path).lexically_normal();
  if (!normal.has_filename()) normal = normal.parent_path();
  std::error_code ignored;
  return fs::equivalent(normal, path, ignored) ? normal.string() : path;
}

RunFolder::~RunFolder() {
  if (!is_new_) return;
  std::error_code fault;
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(path_, fault)) {
    if (IsOfRun(entry.path().filename().string())) files.push_back(entry.path());
  }
  for (const fs::path& file : files) fs::remove(file, fault);
  fs::remove(path_, fault);  // fails if something else is in it
}

Status RunFolder::Create() {
  std::error_code fault;
  is_new_ = fs::create_directories(path_, fault);
  if (fault) return Error{path_ + ": cannot create: " + fault.message()};
  return {};
}

}  // namespace foretoken::train
