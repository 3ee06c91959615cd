// The target's tokens that a draft scores: all of them, or those that the target writes most often
// (docs/draft_vocabulary.md). A draft never guesses tokens that it does not score; this changes how
// often guesses are accepted, never the text.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "draft/drafter.h"
#include "draft/levels.h"
#include "draft/options.h"
#include "io/draft_file.h"
#include "io/token_ranking.h"

namespace foretoken {

// The scored vocabulary as the user's options and the draft's files define it. Options: `ranks` (a
// file of foretoken rank-tokens), `vocabulary` (auto, all or a number of tokens) and `head` (source
// or q4_0).
struct DraftTokenRule {
  std::string drafter;             // prefix of error messages
  std::string ranks;               // option `ranks`; after FindRanking, the file that `ranking`
                                   // came from; "" for none
  TokenRanking ranking;            // empty: every token is scored
  int vocabulary = 0;              // number of tokens to score; 0: the number expected to be
                                   // fastest
  bool all = false;                // score every token, whatever the ranking
  std::optional<DType> head_type;  // type that head rows are converted to; nothing: kept as stored
  void Visit(OptionFields& fields);
};

// Finds the ranking: in the file that option `ranks` names; else `own`, the ranking in the draft's
// file `own_path`; else in TARGET.ranks.json beside the target. Errors: an unreadable file; a file
// for another vocabulary; option `vocabulary` is a number, but there is no ranking or it has fewer
// tokens.
Status FindRanking(const DraftContext& context, const TokenRanking& own,
                   const std::string& own_path, DraftTokenRule& rule);
inline Status FindRanking(const DraftContext& context, const DraftFile& file,
                          DraftTokenRule& rule) {
  return FindRanking(context, file.info().ranking, file.path(), rule);
}

// Expected cost of a token with the best chain of up to 8 guesses, in target passes of one row. It
// is at most 1, the cost without drafting. `level`: cost of a drafting level in such passes. A
// chain of depth d costs 1 + d * level passes and writes the accepted guesses and one more token.
// acceptance[d] is the acceptance rate of guess d + 1; the last entry also applies to deeper
// guesses. If `acceptance` is empty, every rate is 0.7.
double CheapestChain(const std::vector<float>& acceptance, double level);

// The weights that a drafting level reads and its acceptance rates, from which the number of scored
// tokens is chosen.
struct LevelCost {
  size_t body_bytes = 0;          // weights read besides the head
  size_t row_bytes = 0;           // weights of one row of the head
  size_t pass_bytes = 0;          // weights read by a pass of the target
  std::vector<float> acceptance;  // as DraftPrior::acceptance
};

// Returns the number N of scored tokens at which a token is expected to cost least: a multiple of
// 1,024, for the first N of the ranking, or `vocab` for all tokens. With the bytes of `cost` (body,
// row, pass), a chain of depth d costs 1 + d (body + N row) / pass one-row passes of the target and
// writes 1 + a_1 + a_1 a_2 + ... + a_1 ... a_d tokens. Here a_i is the rate in cost.acceptance (0.7
// if that is empty) times 1 - kLostGuesses u, where u is the share of the target's tokens that N
// does not cover. Each N is judged at its best depth, from 1 to 8. N is rejected if a draft of four
// levels would write less than 1 - kMostLost of what it writes with all tokens; for this test,
// rates below 0.7 count as 0.7.
int CheapestVocabulary(const TokenRanking& ranking, int vocab, const LevelCost& cost);

// Relative loss of acceptance per share of the target's tokens that the scored vocabulary does not
// cover. It is below 1 because a draft is right less often about the tokens that are left out.
// Measured on SmolLM2 with HASS, 20 questions of Spec-Bench: 0.6 to 0.8.
inline constexpr double kLostGuesses = 0.7;
// The largest accepted loss of written tokens; see CheapestVocabulary.
inline constexpr double kMostLost = 0.03;

// The rows of a head that a draft scores.
struct DraftTokens {
  std::vector<int32_t> rows;  // rows of the head that are loaded; empty: all of them, in their
                              // order
  std::vector<Token> tokens;  // [columns] the target's tokens; empty: column i is token i
  int vocab = 0;              // size of the target's vocabulary
  std::optional<DType> type;  // type that picked rows are converted to; nothing: kept as stored
  bool picks() const { return !rows.empty(); }
  // Valid while this object lives.
  DraftVocabulary vocabulary() const { return {tokens, vocab}; }
};

// Picks, by `rule`, the rows of a head that a draft scores. The head has `head_rows` rows, each
// `hidden` elements of type `type`; row i is the target's token own[i], or token i where `own` is
// empty. `vocab`: the size of the target's vocabulary. Tokens of the ranking that the head lacks
// are skipped. cost.row_bytes is computed here. Errors: the head has none of the tokens that option
// `vocabulary` selects. Error messages begin with `path`, the draft's file.
Result<DraftTokens> PickTokens(const DraftTokenRule& rule, LevelCost cost, int64_t head_rows,
                               int64_t hidden, DType type, std::span<const Token> own, int vocab,
                               const std::string& path);

}  // namespace foretoken
