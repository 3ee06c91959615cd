// The training text as token ids, made once and kept in the output directory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "recipe.h"
#include "text/tokenizer_data.h"

namespace foretoken::train {

struct CorpusDocument {
  int64_t first = 0;  // into ids
  int32_t length = 0;
  int16_t source = 0;  // into Recipe::data
  bool heldout = false;
};

struct Corpus {
  std::vector<uint32_t> ids;
  std::vector<uint8_t> learn;  // 1 where the token is a target of training
  std::vector<CorpusDocument> documents;
};

struct PreparedData {
  TokenizerData tokenizer;
  Corpus corpus;
};

// Of a directory that holds a run with a checkpoint.
struct KeptData {
  bool tokenizer = false;  // the weights know the tokenizer that is kept: none is learnt
  bool corpus = false;     // a corpus of other data or settings is an error, not made anew
};

// Reads the recipe's data (relative patterns under `base`), learns the tokenizer unless it is
// given or kept, and encodes everything (document_encoder.h); or takes both from `directory`, if
// they were made there from the same contents and settings. Documents whose hash says so are held
// out. Conversations that the tokenizer's chat template does not take are left out, and their
// number is told on standard error, as is a damaged corpus, which is made anew. Errors: data; the
// template's syntax; no document left; see KeptData.
Result<PreparedData> PrepareData(const Recipe& recipe, const std::string& base,
                                 const std::string& directory, bool quiet,
                                 const TokenizerData* given, KeptData kept = {});

}  // namespace foretoken::train
