// Which of the target's tokens a draft scores: all of them, or those that the target writes most
// often (docs/draft_vocabulary.md). A draft never guesses tokens that it does not score; this
// changes how often guesses are accepted, never the text.
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

// Finds the ranking: in the file that the option names, else `own`, that of the draft's file
// `own_path`, else in TARGET.ranks.json beside the target. Errors: an unreadable file, a file for
// another vocabulary, a number of tokens given without a ranking or larger than it.
Status FindRanking(const DraftContext& context, const TokenRanking& own,
                   const std::string& own_path, DraftTokenRule& rule);
inline Status FindRanking(const DraftContext& context, const DraftFile& file,
                          DraftTokenRule& rule) {
  return FindRanking(context, file.info().ranking, file.path(), rule);
}

// Expected cost of a token with the best chain of up to 8 guesses, in target passes of one row (1
// without drafting, which is the maximum). A chain of depth d costs 1 + d * level passes and writes
// the accepted guesses and one more token. acceptance[d] is the acceptance rate of guess d + 1; the
// last entry also stands for deeper guesses; 0.7 where the vector is empty.
double CheapestChain(const std::vector<float>& acceptance, double level);

// The weights that a drafting level reads and its acceptance rates, from which the number of scored
// tokens is chosen.
struct LevelCost {
  size_t body_bytes = 0;          // weights read besides the head
  size_t row_bytes = 0;           // of one row of the head
  size_t pass_bytes = 0;          // weights read by a pass of the target
  std::vector<float> acceptance;  // as DraftPrior::acceptance
};

// The number of scored tokens that makes a token of the target cheapest: a multiple of 1,024 of the
// ranking, or `vocab` for all of them. A chain of depth d costs 1 + d (body + N row) / pass and
// writes 1 + the sum of the products of its acceptance rates. A rate is that of `cost.acceptance`
// (0.7 where it is empty), reduced by kLostGuesses times the share of tokens that N does not cover.
// The depth is the best of 1 to 8 for each N. An N is ruled out where a draft of four levels, with
// an acceptance of 0.7 or the draft's own where that is higher, would write less than 1 - kMostLost
// of what it writes with all tokens.
int CheapestVocabulary(const TokenRanking& ranking, int vocab, const LevelCost& cost);

// Relative loss of acceptance per share of the target's tokens that the scored vocabulary does not
// cover. It is below 1 because a draft is right less often about the tokens that are left out.
// Measured on SmolLM2 with HASS, 20 questions of Spec-Bench: 0.6 to 0.8.
inline constexpr double kLostGuesses = 0.7;
inline constexpr double kMostLost = 0.03;

// The rows of a head that a draft scores.
struct DraftTokens {
  std::vector<int32_t> rows;  // rows of the head that are loaded; empty: all of them, in their
                              // order
  std::vector<Token> tokens;  // [columns] the target's token of each; empty: column i is token i
  int vocab = 0;              // the target's
  std::optional<DType> type;  // type that picked rows are converted to; nothing: kept as stored
  bool picks() const { return !rows.empty(); }
  // Valid as long as this.
  DraftVocabulary vocabulary() const { return {tokens, vocab}; }
};

// The rows that `rule` picks of a head of `head_rows` rows, each `hidden` elements of type `type`.
// Row i is the target's token own[i], or token i where `own` is empty. `vocab`: the target's.
// Tokens of the ranking that the head lacks are skipped. cost.row_bytes is computed here. Errors,
// which begin with `path`, the draft's file: the head has none of the tokens that option
// `vocabulary` asks for.
Result<DraftTokens> PickTokens(const DraftTokenRule& rule, LevelCost cost, int64_t head_rows,
                               int64_t hidden, DType type, std::span<const Token> own, int vocab,
                               const std::string& path);

}  // namespace foretoken
