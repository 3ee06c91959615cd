// The ranking of the target's tokens by how often a run's data have them. The run's draft contains
// it, so that the draft scores only the tokens that the target writes often
// (docs/draft_vocabulary.md).
#pragma once

#include <string>

#include "base/result.h"
#include "corpus.h"
#include "io/model_file.h"

namespace foretoken::train {

std::string DataRankingPath(const std::string& run);

// Ranks tokens by how often the loss covers them, then by how often the other text has them. Writes
// the ranking (docs/formats.md, "Token rankings") to the directory `run`, or nothing if no token
// has a loss. REQUIRES: the corpus was encoded with the target's tokenizer. Errors: a file that
// cannot be written.
Status WriteDataRanking(const Corpus& corpus, const ModelFile& target, const std::string& run);

}  // namespace foretoken::train
