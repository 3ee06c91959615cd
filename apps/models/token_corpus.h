// Texts as the tokens of a model: what build-datastore and count-ngrams read.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "apps/command_line.h"
#include "base/result.h"
#include "base/types.h"
#include "io/model_file.h"
#include "text/tokenizer.h"

namespace foretoken {

struct Corpus {
  std::shared_ptr<const Tokenizer> tokenizer;  // the model's
  std::vector<std::vector<Token>> documents;
  int64_t tokens = 0;
};

// What a command that makes a file of a corpus is told.
struct CorpusArgs {
  std::string model, output;
  std::vector<std::string> data;  // files, directories or globs
  int threads = 0;
  bool force = false, quiet = false;
};
// `output`: what --out writes.
void AddCorpusArgs(CLI::App& app, CorpusArgs* args, const std::string& output);
// Conversations are as the model's chat template writes them; those that it refuses are left out,
// with a warning that counts them and gives its reason. Errors: files that cannot be read, a model
// without a tokenizer.
Result<Corpus> ReadCorpus(const CorpusArgs& args);

}  // namespace foretoken
