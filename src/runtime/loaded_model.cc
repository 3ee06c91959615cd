#include "runtime/loaded_model.h"

#include <algorithm>
#include <chrono>

#include "backend/backend.h"

namespace foretoken {

Result<LoadedModel> Load(const ModelArgs& args) {
  const auto start = std::chrono::steady_clock::now();
  LoadedModel loaded;
  FT_ASSIGN_OR_RETURN(loaded.file, ModelFile::Open(args.path));
  const int threads = std::max(args.threads, 0);
  FT_ASSIGN_OR_RETURN(loaded.backend, NewBackend(args.backend, {.threads = threads}));
  FT_ASSIGN_OR_RETURN(loaded.tokenizer, TokenizerOf(*loaded.file));
  FT_ASSIGN_OR_RETURN(loaded.model, LoadModel(*loaded.file, *loaded.backend));
  loaded.costs = std::make_unique<CostStore>(*loaded.model);
  loaded.load_seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return loaded;
}

Result<std::shared_ptr<const Tokenizer>> TokenizerOf(const ModelFile& file) {
  if (file.tokenizer().tokens.empty()) return Error{file.path() + ": the file has no tokenizer"};
  return Tokenizer::Create(file.tokenizer(), file.path());
}

}  // namespace foretoken
