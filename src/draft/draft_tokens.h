// Which of the target's tokens a draft scores: all of them, or those that the target writes most
// often (docs/draft_vocabulary.md). What a draft does not score it never guesses; the text stays
// the target's whichever they are.
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

// What a user and a draft's files say of it. Options: `ranks` (a file of foretoken rank-tokens),
// `vocabulary` (auto, all or a number of tokens) and `head` (source or q4_0).
struct DraftTokenRule {
  std::string drafter;             // opens errors
  std::string ranks;               // option `ranks`, then where `ranking` is from; "" for none
  TokenRanking ranking;            // empty: every token is scored
  int vocabulary = 0;              // tokens to score; 0: what is expected to be fastest
  bool all = false;                // every token, whatever the ranking
  std::optional<DType> head_type;  // what rows become; nothing: they stay
  void Visit(OptionFields& fields);
};

// Fetches the ranking: from the file that the option names, else `own`, that of the draft's file
// `own_path`, else from TARGET.ranks.json beside the target. Errors: an unreadable file, one of
// another vocabulary, a number of tokens without a ranking or beyond it.
Status FindRanking(const DraftContext& context, const TokenRanking& own,
                   const std::string& own_path, DraftTokenRule& rule);
inline Status FindRanking(const DraftContext& context, const DraftFile& file,
                          DraftTokenRule& rule) {
  return FindRanking(context, file.info().ranking, file.path(), rule);
}

// Plain passes that a token is expected to take with the best chain of up to 8 guesses, 1 at most:
// a chain of depth d costs 1 + d * level passes and writes one token more than come true in a row.
// acceptance[d] is the rate of guess d + 1, the last one that of deeper ones; 0.7 where there is
// none.
double CheapestChain(const std::vector<float>& acceptance, double level);

// What a level of drafting reads, and how often it is right, for choosing the number of tokens.
struct LevelCost {
  size_t body_bytes = 0;          // weights read beside the head
  size_t row_bytes = 0;           // of a row of the head
  size_t pass_bytes = 0;          // weights read by a pass of the target
  std::vector<float> acceptance;  // as DraftPrior::acceptance
};

// The number of tokens that makes a token of the target cheapest: a multiple of 1,024 of the
// ranking, or `vocab`, all of them. A chain of depth d costs 1 + d (body + N row) / pass and writes
// 1 + sum of products of accepted guesses, each of which is as likely as `cost.acceptance` says
// (0.7 where it says nothing), less kLostGuesses of the share of tokens that N does not cover. The
// depth is the best of 1 to 8 for each N. Four levels that come true at 0.7, or at the draft's own
// rate where that is higher, are never expected to write less than 1 - kMostLost of what they write
// with all tokens.
int CheapestVocabulary(const TokenRanking& ranking, int vocab, const LevelCost& cost);

// How much more often a draft is right about tokens within its vocabulary than about those beyond,
// seen from what it loses: on SmolLM2 with HASS, 20 questions of Spec-Bench, 0.6 to 0.8.
inline constexpr double kLostGuesses = 0.7;
inline constexpr double kMostLost = 0.03;

// The rows of a head that a draft scores.
struct DraftTokens {
  std::vector<int32_t> rows;  // of the head; empty: all of them as they lie
  std::vector<Token> tokens;  // [columns] the target's token of each; empty: column i is token i
  int vocab = 0;              // the target's
  std::optional<DType> type;  // what picked rows become; nothing: they stay
  bool picks() const { return !rows.empty(); }
  // Valid as long as this.
  DraftVocabulary vocabulary() const { return {tokens, vocab}; }
};

// What the rule picks of a head of `head_rows` rows of type `type`: row i is the target's token
// own[i], or i where `own` is empty. `vocab`: the target's. Of the ranking's first tokens a head
// gives those that it has. `hidden`: values of a row. cost.row_bytes is filled in. Errors, opened
// by `path`, the draft's file: a head with none of the tokens that option `vocabulary` asks for.
Result<DraftTokens> PickTokens(const DraftTokenRule& rule, LevelCost cost, int64_t head_rows,
                               int64_t hidden, DType type, std::span<const Token> own, int vocab,
                               const std::string& path);

}  // namespace foretoken
