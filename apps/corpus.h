// Texts as the tokens of a model: what build-datastore and count-ngrams read.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/types.h"
#include "text/tokenizer.h"

namespace foretoken {

struct Corpus {
  std::shared_ptr<const Tokenizer> tokenizer;  // the model's
  std::vector<std::vector<Token>> documents;
  int64_t tokens = 0;
  size_t refused = 0;  // conversations that the chat template does not take
};

// `data`: files, directories or globs. Conversations are as `model`'s chat template writes them.
// Errors: files that cannot be read, a model without a tokenizer.
Result<Corpus> ReadCorpus(const std::string& model, const std::vector<std::string>& data,
                          int threads, bool quiet);
// Says on standard error what was left out.
void ReportRefused(const Corpus& corpus);

}  // namespace foretoken
