// Tokens ranked by how often a target writes them, the order by which draft vocabularies are cut.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "base/result.h"
#include "base/types.h"

namespace foretoken {

// The tokens that a target writes most often, and the share of its text that the first N cover.
struct TokenRanking {
  std::vector<Token> tokens;  // distinct, most frequent first; the whole vocabulary or a prefix
  // coverage[i]: share of the target's tokens, in [0, 1], that are among the first (i + 1) * step
  // of `tokens`, or among all of them for the last i. [ceil(tokens / step)], non-decreasing.
  std::vector<float> coverage;
  int step = 256;

  bool empty() const { return tokens.empty(); }
  // The share that the first `count` tokens cover, interpolated between steps. REQUIRES:
  // 0 <= count <= tokens.size().
  float Coverage(int64_t count) const;
  // The ranking of the first `count` tokens, or of all if there are fewer.
  TokenRanking First(size_t count) const;
  bool operator==(const TokenRanking&) const = default;
};

// Errors: a token that is not below `vocab` or occurs twice, shares that do not fit the tokens or
// decrease. Error messages begin with `label` (file and field).
Status CheckRanking(const TokenRanking& ranking, int vocab, const std::string& label);

// A ranking and the vocabulary that its ids belong to.
struct RankingFile {
  TokenRanking ranking;
  int vocab = 0;            // tokens of that vocabulary
  uint64_t vocabulary = 0;  // its VocabularyFingerprint; 0: unknown
};
// Default number of ranked tokens that a draft file keeps.
inline constexpr size_t kRankedInDraft = 32768;

// Errors: ids that do not fit `vocab` tokens; a vocabulary with another fingerprint than
// `vocabulary` or, if one of the two is unknown (0), with another size than `vocab`. Error messages
// begin with `path`, the ranking's file.
Status CheckRankingFor(const RankingFile& file, int vocab, uint64_t vocabulary,
                       const std::string& path);
// The file as JSON text (docs/formats.md, "Token rankings").
std::string RankingText(const RankingFile& file);
// Reads such a file. Errors: unreadable, not JSON, a field that is missing, of another type or
// refused by CheckRanking.
Result<RankingFile> ReadRanking(const std::string& path);

}  // namespace foretoken
