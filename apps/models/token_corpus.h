// Tokenized text corpora, the input of build-datastore and count-ngrams.
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

// Arguments of commands that build a file from a corpus.
struct CorpusArgs {
  std::string model, output;
  std::vector<std::string> data;  // files, directories or globs
  int threads = 0;
  bool force = false, quiet = false;
};
// `output`: description of what --out writes.
void AddCorpusArgs(CLI::App& app, CorpusArgs* args, const std::string& output);
// Reads a corpus. Conversations are rendered by the model's chat template; those that it rejects
// are skipped, with a warning that counts them and gives the reason. Errors: unreadable files, a
// model without a tokenizer.
Result<Corpus> ReadCorpus(const CorpusArgs& args);

}  // namespace foretoken
