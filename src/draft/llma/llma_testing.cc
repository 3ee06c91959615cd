// Options of LLMA for tests, with the target's texts as reference files.
#include "base/json.h"
#include "base/output_file.h"
#include "draft/test_options.h"

namespace foretoken {

Json LlmaTestOptions(const TestTarget& target) {
  Json files = Json::array();
  for (const std::vector<Token>& text : target.texts()) {
    const std::string path = target.stem + std::to_string(files.size()) + ".txt";
    FT_CHECK(WriteFileAtomically(path, target.tokenizer.Decode(text)).ok());
    files.push_back(path);
  }
  return {{"reference", std::move(files)}};
}

}  // namespace foretoken
