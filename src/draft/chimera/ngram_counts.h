// The n-grams of a corpus, most frequent first, with which a cache of n-gram states can be filled
// at the start. Each line of the file is a count and n token ids, separated by spaces.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "draft/chimera/ngram.h"

namespace foretoken {

// Returns the contents of such a file for the `most` most frequent n-grams of `documents`. N-grams
// with equal counts are ordered by their ids. REQUIRES: 1 <= n <= kMostNgram.
std::string CountNgrams(std::span<const std::vector<Token>> documents, int n, size_t most);

// Reads the first `most` n-grams of a file. Errors: an unreadable file; a line that is not a count
// and n ids below `vocab` (the message gives the line's number).
Result<std::vector<Ngram>> ReadNgramCounts(const std::string& path, int n, int vocab, int most);

}  // namespace foretoken
