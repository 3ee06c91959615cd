// Writes the drafts and the datastore that tests of altered files begin with: a draft of random
// weights for every trained method, all for one model. usage: make_drafts MODEL FOLDER
#include <cstdio>
#include <string>

#include "base/json.h"
#include "draft/drafter.h"
#include "draft/test_options.h"

namespace foretoken {
namespace {

Status MakeDrafts(const std::string& model, const std::string& folder) {
  FT_ASSIGN_OR_RETURN(const auto file, ModelFile::Open(model));
  FT_ASSIGN_OR_RETURN(const auto tokenizer, Tokenizer::Create(file->tokenizer(), model));
  FT_ASSIGN_OR_RETURN(const auto backend, NewBackend("cpu", {.threads = 1}));
  const auto weights = NewFileWeights(*file, *backend);
  const auto texts = [&] {
    std::vector<std::vector<Token>> all;
    for (const char* text : {"hello hello hello", "a hello and a hello", "{\"a\": [1, 2, 1, 2]}"}) {
      all.push_back(tokenizer->Encode(text));
    }
    return all;
  };
  for (const DrafterEntry& entry : AllDrafters()) {
    const std::string stem = folder + "/" + std::string(entry.name);
    TestOptions(entry.name, {file->config(), *tokenizer, *weights, *backend, texts, stem});
  }
  return {};
}

}  // namespace
}  // namespace foretoken

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const foretoken::Status status = foretoken::MakeDrafts(argv[1], argv[2]);
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", status.error().message.c_str());
  return 1;
}
