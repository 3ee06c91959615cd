// The n-grams of a corpus, most frequent first: what a cache of n-gram states begins with. A line
// of the file is a count and n token ids, with spaces between.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "draft/chimera/ngram.h"

namespace foretoken {

// The n-grams of `documents` as such a file: at most `most`, the lower ids first where counts are
// equal. REQUIRES: 1 <= n <= kMostNgram.
std::string CountNgrams(std::span<const std::vector<Token>> documents, int n, size_t most);

// The first `most` n-grams of a file. Errors: it cannot be read; a line (named) that is not a count
// and n ids below `vocab`.
Result<std::vector<Ngram>> ReadNgramCounts(const std::string& path, int n, int vocab, int most);

}  // namespace foretoken
