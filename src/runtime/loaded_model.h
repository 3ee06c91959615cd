// A model that is ready to decode, as named on a command line.
#pragma once

#include <memory>
#include <string>

#include "engine/cost_file.h"
#include "io/model_file.h"
#include "model/model.h"
#include "text/tokenizer.h"

namespace foretoken {

struct ModelArgs {
  std::string path;
  int threads = 0;              // 0 or less: one for each core available to the process
  std::string backend = "cpu";  // a name for NewBackend
};

// A model and everything it needs. Members borrow only members declared before them.
struct LoadedModel {
  std::unique_ptr<ModelFile> file;
  std::unique_ptr<Backend> backend;
  std::shared_ptr<const Tokenizer> tokenizer;
  std::unique_ptr<Model> model;
  std::unique_ptr<CostStore> costs;  // read from its file on first use
  double load_seconds = 0;
};
// Loads a model. Errors: no path given, an unreadable file, a file without a tokenizer, those of
// NewBackend and LoadModel.
Result<LoadedModel> Load(const ModelArgs& args);

// The tokenizer in a model file. Errors: the file has no tokenizer, or a broken one.
Result<std::shared_ptr<const Tokenizer>> TokenizerOf(const ModelFile& file);

}  // namespace foretoken
