// A vocabulary's tokens by how often a target writes them: what a draft's vocabulary is cut by.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "base/result.h"
#include "base/types.h"

namespace foretoken {

// The tokens that a target writes most often, and how much of its text the first N are.
struct TokenRanking {
  std::vector<Token> tokens;  // distinct, most frequent first; the whole vocabulary or its head
  // coverage[i]: share of the target's tokens, in [0, 1], that are among the first (i + 1) * step
  // of `tokens`; the last one is that of all of `tokens`. [ceil(tokens / step)], not descending.
  std::vector<float> coverage;
  int step = 256;

  bool empty() const { return tokens.empty(); }
  // The share that the first `count` tokens cover, between steps by interpolation. REQUIRES:
  // 0 <= count <= tokens.size().
  float Coverage(int64_t count) const;
  // The first `count` tokens, all of them where there are fewer.
  TokenRanking First(size_t count) const;
  bool operator==(const TokenRanking&) const = default;
};

// Errors: a token that is not below `vocab` or stands twice, shares that do not fit the tokens or
// descend. They open with `label` (file and field).
Status CheckRanking(const TokenRanking& ranking, int vocab, const std::string& label);

// A ranking with the vocabulary that its ids are of.
struct RankingFile {
  TokenRanking ranking;
  int vocab = 0;            // tokens of that vocabulary
  uint64_t vocabulary = 0;  // its VocabularyFingerprint; 0: unknown
};
// Tokens that a draft file keeps of a ranking unless asked otherwise.
inline constexpr size_t kRankedInDraft = 32768;

// Errors: ids that do not fit `vocab` tokens; a vocabulary of another fingerprint than `vocabulary`
// or, where one of the two is unknown (0), of another size than `vocab`. They open with `path`, the
// ranking's file.
Status CheckRankingFor(const RankingFile& file, int vocab, uint64_t vocabulary,
                       const std::string& path);
// The file as JSON text (docs/formats.md, "Token rankings").
std::string RankingText(const RankingFile& file);
// Reads such a file. Errors: unreadable, no JSON, a field that is missing, of another type or
// refused by CheckRanking.
Result<RankingFile> ReadRanking(const std::string& path);

}  // namespace foretoken
