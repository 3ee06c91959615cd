#include "eval/machine/bench_model.h"

#include <utility>

namespace foretoken {

Result<BenchModel> LoadBenchModel(const BenchOptions& options, DType type) {
  BenchModel s;
  FT_ASSIGN_OR_RETURN(s.backend, NewBackend(options.backend, {.threads = options.threads}));
  const ModelOptions limits{.max_rows = kBenchRows};
  if (options.model.empty()) {
    FT_ASSIGN_OR_RETURN(const ModelConfig config, ShapeByName(options.random));
    FT_ASSIGN_OR_RETURN(s.model, NewRandomModel(config, type, /*seed=*/1, *s.backend, limits));
    return s;
  }
  FT_ASSIGN_OR_RETURN(s.file, ModelFile::Open(options.model));
  Status loaded;
  s.load_seconds = Seconds([&] {
    Result<std::unique_ptr<Model>> model = LoadModel(*s.file, *s.backend, limits);
    if (model.ok()) {
      s.model = *std::move(model);
    } else {
      loaded = model.error();
    }
  });
  if (!loaded.ok()) return loaded.error();
  return s;
}

}  // namespace foretoken
