#include "draft/draft_tokens.h"

#include <algorithm>
#include <numeric>

#include "base/input_file.h"
#include "text/tokenizer.h"

namespace foretoken {
namespace {

// See CheapestVocabulary.
constexpr int kVocabularyStep = 1024, kDeepestChain = 8, kJudgedDepth = 4;
constexpr float kUsualAcceptance = 0.7f;

// Probability that a guess at `depth` is right, given that the guesses before it are.
double AcceptanceAt(const std::vector<float>& acceptance, int depth) {
  if (acceptance.empty()) return kUsualAcceptance;
  return acceptance[std::min(static_cast<size_t>(depth - 1), acceptance.size() - 1)];
}

// Expected numbers of tokens written by chains of depths 0, 1, ..., kDeepestChain, if the scored
// vocabulary covers the share `covered` of the target's tokens.
std::vector<double> Written(const std::vector<float>& acceptance, double covered) {
  std::vector<double> written{1};
  double reached = 1;
  for (int depth = 1; depth <= kDeepestChain; ++depth) {
    reached *= AcceptanceAt(acceptance, depth) * (1 - kLostGuesses * (1 - covered));
    written.push_back(written.back() + reached);
  }
  return written;
}

// Expected cost of a token with the cheapest chain, in one-row passes of the target. `written`: the
// result of Written. `level`: cost of a drafting level in such passes.
double Price(const std::vector<double>& written, double level) {
  double best = 1;
  for (int depth = 1; depth <= kDeepestChain; ++depth) {
    best = std::min(best, (1 + depth * level) / written[static_cast<size_t>(depth)]);
  }
  return best;
}

}  // namespace

void DraftTokenRule::Visit(OptionFields& fields) {
  fields.Text("ranks", ranks, "a file", "a ranking of the model's tokens, from rank-tokens",
              {.fallback = "the draft file's own, or MODEL.ranks.json beside the model"});
  std::string scored;
  fields.WordOrInt(
      "vocabulary", scored, vocabulary, {"auto", "all"}, 1, 1 << 24,
      "tokens scored, from the top of the ranking; auto: the number expected to be fastest",
      {.authors = "all"});
  all = scored == "all";
  fields.Choice("head", head_type,
                {{"source", std::optional<DType>()}, {"q4_0", std::optional(DType::kQ4_0)}},
                "number format of the LM head's rows; source: as stored");
}

double CheapestChain(const std::vector<float>& acceptance, double level) {
  return Price(Written(acceptance, /*covered=*/1), level);
}

Status FindRanking(const DraftContext& context, const TokenRanking& own,
                   const std::string& own_path, DraftTokenRule& rule) {
  std::string path = rule.ranks;
  if (path.empty() && own.empty() && !context.target_path.empty()) {
    const std::string beside = context.target_path + ".ranks.json";
    if (FileExists(beside)) path = beside;
  }
  if (!path.empty()) {
    FT_ASSIGN_OR_RETURN(RankingFile file, ReadRanking(path));
    const uint64_t vocabulary =
        context.tokenizer == nullptr ? 0 : VocabularyFingerprint(context.tokenizer->data());
    FT_RETURN_IF_ERROR(CheckRankingFor(file, context.target.config().vocab, vocabulary, path));
    rule.ranking = std::move(file.ranking);
    rule.ranks = path;
  } else if (!own.empty()) {
    rule.ranking = own;
    rule.ranks = own_path;
  }
  if (rule.vocabulary == 0) return {};
  const std::string problem =
      "drafter " + rule.drafter + ": option vocabulary is " + std::to_string(rule.vocabulary);
  if (rule.ranking.empty()) {
    return Error{problem +
                 ", but there is no ranking of the target's tokens; foretoken rank-tokens "
                 "makes one for --draft-opt ranks=FILE"};
  }
  if (rule.vocabulary <= std::ssize(rule.ranking.tokens)) return {};
  return Error{problem + ", expected all, or at most the " +
               std::to_string(rule.ranking.tokens.size()) + " tokens of the ranking in " +
               rule.ranks};
}

int CheapestVocabulary(const TokenRanking& ranking, int vocab, const LevelCost& cost) {
  if (ranking.empty() || cost.pass_bytes == 0) return vocab;
  const auto level = [&](int64_t count) {
    const double bytes = static_cast<double>(cost.body_bytes) +
                         static_cast<double>(count) * static_cast<double>(cost.row_bytes);
    return bytes / static_cast<double>(cost.pass_bytes);
  };
  // A level of a tree holds several guesses. The chance that one of them is right is assumed to be
  // at least kUsualAcceptance, even if the first guess is right less often.
  std::vector<float> tree_acceptance(kJudgedDepth, kUsualAcceptance);
  for (int depth = 1; depth <= kJudgedDepth; ++depth) {
    float& rate = tree_acceptance[static_cast<size_t>(depth - 1)];
    rate = std::max(rate, static_cast<float>(AcceptanceAt(cost.acceptance, depth)));
  }
  const double written_with_all = Written(tree_acceptance, /*covered=*/1)[kJudgedDepth];
  int best = vocab;
  double least_price = CheapestChain(cost.acceptance, level(vocab));
  const auto most = std::min<int64_t>(std::ssize(ranking.tokens), vocab - 1);
  for (int64_t count = kVocabularyStep; count <= most; count += kVocabularyStep) {
    const double covered = ranking.Coverage(count);
    const double price = Price(Written(cost.acceptance, covered), level(count));
    const double kept_share = Written(tree_acceptance, covered)[kJudgedDepth] / written_with_all;
    if (price >= least_price || kept_share < 1 - kMostLost) continue;
    least_price = price;
    best = static_cast<int>(count);
  }
  return best;
}

Result<DraftTokens> PickTokens(const DraftTokenRule& rule, LevelCost cost, int64_t head_rows,
                               int64_t hidden, DType type, std::span<const Token> own, int vocab,
                               const std::string& path) {
  DraftTokens every_row{.tokens = {own.begin(), own.end()}, .vocab = vocab};
  const std::optional<DType> new_type = rule.head_type;
  // Rows that are not whole blocks are refused when they are loaded.
  const bool fits = hidden % BlockElements(new_type.value_or(type)) == 0;
  cost.row_bytes = fits ? RowBytes(new_type.value_or(type), hidden) : 0;
  const auto rows = static_cast<int>(head_rows);
  int count = rows;
  if (!rule.all && !rule.ranking.empty()) {
    count = rule.vocabulary > 0 ? rule.vocabulary : CheapestVocabulary(rule.ranking, rows, cost);
  }
  if (count >= rows) {
    if (!new_type || *new_type == type) return every_row;
    every_row.rows.resize(static_cast<size_t>(rows));
    std::iota(every_row.rows.begin(), every_row.rows.end(), 0);
    every_row.type = new_type;
    return every_row;
  }
  std::vector<int32_t> row_of(static_cast<size_t>(vocab), -1);
  for (int row = 0; row < rows && row < vocab; ++row) {
    row_of[static_cast<size_t>(own.empty() ? row : own[static_cast<size_t>(row)])] = row;
  }
  DraftTokens selected{.vocab = vocab, .type = new_type};
  for (const Token token : std::span(rule.ranking.tokens).first(static_cast<size_t>(count))) {
    const int32_t row = row_of[static_cast<size_t>(token)];
    if (row < 0) continue;
    selected.rows.push_back(row);
    selected.tokens.push_back(token);
  }
  if (selected.picks()) return selected;
  if (rule.vocabulary == 0)
    return every_row;  // no number was requested: the draft's own tokens are kept
  return Error{path + ": drafter " + rule.drafter + ": option vocabulary is " +
               std::to_string(rule.vocabulary) +
               ", expected all: the draft's head has none of the first " +
               std::to_string(rule.vocabulary) + " tokens of the ranking in " + rule.ranks};
}

}  // namespace foretoken
