#include "run_files.h"

#include <filesystem>

#include "text/documents.h"

namespace foretoken::train {

namespace {

namespace fs = std::filesystem;

constexpr const char* kRunFiles[] = {
    "checkpoint.safetensors", "corpus.bin", "tokenizer_data.json", "log.jsonl",
    "heldout.jsonl",          "draft.gguf", "own_answers.json"};

}  // namespace

Status CheckRunFiles(const std::string& out) {
  for (const char* own : kRunFiles) {
    const fs::path path = fs::path(out) / own;
    std::error_code missing;
    const fs::file_type type = fs::status(path, missing).type();
    if (type == fs::file_type::not_found || type == fs::file_type::regular) continue;
    return Error{path.string() + ": is not a regular file, which a run needs there"};
  }
  return {};
}

Status CheckDataAreApart(const Recipe& recipe, const std::string& base, const std::string& out) {
  for (const DataSource& source : recipe.data) {
    std::error_code missing;
    if (fs::equivalent(fs::path(base) / source.files, out, missing)) {
      return Error{source.files + ": is the folder of training data, and the run in " + out +
                   " would write its log there, where data are read; name another --out"};
    }
    const auto files = ListDataFiles(source.files, base);
    if (!files.ok()) continue;  // reported when the data are read
    for (const std::string& file : *files) {
      for (const char* own : kRunFiles) {
        if (!fs::equivalent(file, fs::path(out) / own, missing)) continue;
        return Error{file + ": is training data, and the run in " + out +
                     " would write to it; name another --out"};
      }
    }
  }
  return {};
}

}  // namespace foretoken::train
