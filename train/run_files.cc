#include "run_files.h"

#include <filesystem>

#include "text/documents.h"

namespace foretoken::train {

Status CheckDataAreApart(const Recipe& recipe, const std::string& base, const std::string& out) {
  namespace fs = std::filesystem;
  for (const DataSource& source : recipe.data) {
    const auto files = ListDataFiles(source.files, base);
    if (!files.ok()) continue;  // said by who reads them
    for (const std::string& file : *files) {
      for (const char* own :
           {"checkpoint.safetensors", "corpus.bin", "tokenizer_data.json", "log.jsonl"}) {
        std::error_code missing;
        if (!fs::equivalent(file, fs::path(out) / own, missing)) continue;
        return Error{file + ": is training data, and the run in " + out +
                     " would write to it; name another --out"};
      }
    }
  }
  return {};
}

}  // namespace foretoken::train
