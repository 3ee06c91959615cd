// The training text as token ids, encoded once and cached in the output directory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "recipe.h"
#include "text/tokenizer_data.h"

namespace foretoken::train {

struct CorpusDocument {
  int64_t first = 0;   // index of the first token in Corpus::ids
  int32_t length = 0;  // tokens
  int16_t source = 0;  // index in Recipe::data
  bool heldout = false;
};

struct Corpus {
  std::vector<uint32_t> ids;
  std::vector<uint8_t> learn;  // [ids] 1: the loss covers this token
  std::vector<CorpusDocument> documents;
};

struct PreparedData {
  TokenizerData tokenizer;
  Corpus corpus;
};

// Files of the output directory that a checkpoint there depends on.
struct KeptData {
  bool tokenizer = false;  // use the stored tokenizer, which the weights were trained with
  bool corpus = false;     // report a stored corpus of other data or settings; do not replace it
};

// Reads the recipe's data (relative patterns are under `base`), trains the tokenizer unless it is
// `given` or kept, and encodes all documents (document_encoder.h). If `directory` holds a tokenizer
// and a corpus of the same contents and settings, uses those instead. Documents are held out by
// their hash. Conversations that the tokenizer's chat template rejects are skipped and counted on
// standard error; a damaged corpus file is reported on standard error and replaced. Errors: data
// that cannot be read; a syntax error in the template; no document left; a corpus that must be kept
// (KeptData) but has other contents.
Result<PreparedData> PrepareData(const Recipe& recipe, const std::string& base,
                                 const std::string& directory, bool quiet,
                                 const TokenizerData* given, KeptData kept = {});

}  // namespace foretoken::train
