#include "draft/draft_tokens.h"

#include <algorithm>
#include <filesystem>
#include <numeric>

#include "base/json.h"
#include "text/tokenizer.h"

namespace foretoken {
namespace {

constexpr int kVocabularyStep = 1024, kDeepestChain = 8;
constexpr float kUsualAcceptance = 0.7f;

// Expected cost of a token of the target, in plain passes, with the best chain.
double CostOfToken(double level, double covered, const std::vector<float>& acceptance) {
  double best = 1, reached = 1, written = 1;
  for (int depth = 1; depth <= kDeepestChain; ++depth) {
    const size_t last = acceptance.empty() ? 0 : acceptance.size() - 1;
    const double recorded = acceptance.empty()
                                ? kUsualAcceptance
                                : acceptance[std::min(static_cast<size_t>(depth - 1), last)];
    reached *= recorded * (1 - kLostGuesses * (1 - covered));
    written += reached;
    best = std::min(best, (1 + depth * level) / written);
  }
  return best;
}

// Four bits where those are fewer bytes.
std::optional<DType> UsualHeadType(DType type, int64_t hidden) {
  const bool fits = hidden % BlockElements(DType::kQ4_0) == 0;
  if (!fits || RowBytes(DType::kQ4_0, hidden) >= RowBytes(type, hidden)) return std::nullopt;
  return DType::kQ4_0;
}

Status CheckVocabulary(const RankingFile& file, const DraftContext& context,
                       const std::string& path) {
  const int vocab = context.target.config().vocab;
  FT_RETURN_IF_ERROR(CheckRanking(file.ranking, vocab, path + ": field 'tokens'"));
  if (context.tokenizer == nullptr || file.vocabulary == 0) return {};
  const uint64_t target = VocabularyFingerprint(context.tokenizer->data());
  if (file.vocabulary == target) return {};
  return Error{path + ": field 'vocabulary' is " + std::to_string(file.vocabulary) +
               ", expected the target's " + std::to_string(target) +
               ": this ranking was made for another tokenizer"};
}

}  // namespace

DraftTokenRule AskTokenRule(DraftOptions& options, std::string drafter) {
  DraftTokenRule rule;
  rule.drafter = std::move(drafter);
  rule.ranks = options.Text("ranks", "");
  const std::string vocabulary = options.Text("vocabulary", "auto");
  rule.all = vocabulary == "all";
  if (!rule.all && vocabulary != "auto") {
    rule.vocabulary = options.Int("vocabulary", 0, 1, 1 << 24);
  }
  static constexpr std::optional<DType> kTypes[] = {std::nullopt, std::nullopt, DType::kQ4_0};
  const int head = options.Choice("head", {"auto", "source", "q4_0"});
  rule.head_given = head > 0;
  rule.head_type = kTypes[head];
  return rule;
}

Status FindRanking(const DraftContext& context, const TokenRanking& own,
                   const std::string& own_path, DraftTokenRule& rule) {
  std::string path = rule.ranks;
  if (path.empty() && own.empty() && !context.target_path.empty()) {
    std::error_code ignored;
    const std::string beside = context.target_path + ".ranks.json";
    if (std::filesystem::exists(beside, ignored)) path = beside;
  }
  if (!path.empty()) {
    FT_ASSIGN_OR_RETURN(RankingFile file, ReadRanking(path));
    FT_RETURN_IF_ERROR(CheckVocabulary(file, context, path));
    rule.ranking = std::move(file.ranking);
    rule.ranks = path;
  } else if (!own.empty()) {
    rule.ranking = own;
    rule.ranks = own_path;
  }
  if (rule.vocabulary == 0) return {};
  const std::string found =
      "drafter " + rule.drafter + ": option vocabulary is " + std::to_string(rule.vocabulary);
  if (rule.ranking.empty()) {
    return Error{found +
                 ", but there is no ranking of the target's tokens; foretoken rank-tokens "
                 "makes one for --draft-opt ranks=FILE"};
  }
  if (rule.vocabulary <= std::ssize(rule.ranking.tokens)) return {};
  return Error{found + ", expected all, or at most the " +
               std::to_string(rule.ranking.tokens.size()) + " tokens of the ranking in " +
               rule.ranks};
}

int CheapestVocabulary(const TokenRanking& ranking, int vocab, const LevelCost& cost) {
  if (ranking.empty() || cost.pass_bytes == 0) return vocab;
  const auto price = [&](int64_t count, double covered) {
    const double bytes = static_cast<double>(cost.body_bytes) +
                         static_cast<double>(count) * static_cast<double>(cost.row_bytes);
    return CostOfToken(bytes / static_cast<double>(cost.pass_bytes), covered, cost.acceptance);
  };
  int best = vocab;
  double least = price(vocab, 1);
  const auto most = std::min<int64_t>(std::ssize(ranking.tokens), vocab - 1);
  for (int64_t count = kVocabularyStep; count <= most; count += kVocabularyStep) {
    const double found = price(count, ranking.Coverage(count));
    if (found >= least) continue;
    least = found;
    best = static_cast<int>(count);
  }
  return best;
}

DraftTokens PickTokens(const DraftTokenRule& rule, LevelCost cost, int64_t head_rows,
                       int64_t hidden, DType type, std::span<const Token> own, int vocab) {
  DraftTokens picked{.tokens = {own.begin(), own.end()}, .vocab = vocab};
  std::optional<DType> becomes = rule.head_type;
  if (!rule.head_given) becomes = UsualHeadType(type, hidden);
  cost.row_bytes = RowBytes(becomes.value_or(type), hidden);
  const auto rows = static_cast<int>(head_rows);
  int count = rows;
  if (!rule.all && !rule.ranking.empty()) {
    count = rule.vocabulary > 0 ? rule.vocabulary : CheapestVocabulary(rule.ranking, rows, cost);
  }
  if (count >= rows) {
    if (!rule.head_given || !becomes || *becomes == type) return picked;
    picked.rows.resize(static_cast<size_t>(rows));
    std::iota(picked.rows.begin(), picked.rows.end(), 0);
    picked.type = becomes;
    return picked;
  }
  std::vector<int32_t> row_of(static_cast<size_t>(vocab), -1);
  for (int row = 0; row < rows && row < vocab; ++row) {
    row_of[static_cast<size_t>(own.empty() ? row : own[static_cast<size_t>(row)])] = row;
  }
  picked.tokens.clear();
  for (const Token token : rule.ranking.tokens) {
    if (std::ssize(picked.rows) == count) break;
    const int32_t row = row_of[static_cast<size_t>(token)];
    if (row < 0) continue;
    picked.rows.push_back(row);
    picked.tokens.push_back(token);
  }
  picked.type = becomes;
  return picked;
}

}  // namespace foretoken
