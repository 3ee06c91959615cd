#include "io/token_ranking.h"

#include <algorithm>

#include "base/check.h"
#include "base/division.h"
#include "base/json.h"
#include "io/json_fields.h"
#include "io/model_limits.h"

namespace foretoken {
namespace {

constexpr int64_t kMostStep = 1 << 20;

std::vector<float> Shares(JsonFields& fields) {
  std::vector<float> shares;
  const Json* list = fields.Find("coverage");
  if (list == nullptr) return fields.Missing("coverage", "a list of numbers"), shares;
  if (!list->is_array()) return fields.Wrong("coverage", *list, "a list of numbers"), shares;
  shares.reserve(list->size());
  for (const Json& item : *list) {
    if (!item.is_number()) return fields.Wrong("coverage", item, "a number"), shares;
    shares.push_back(item.get<float>());
  }
  return shares;
}

}  // namespace

float TokenRanking::Coverage(int64_t count) const {
  FT_CHECK(0 <= count && count <= std::ssize(tokens));
  if (count == 0) return 0;
  const int64_t whole = count / step, rest = count % step;
  const float before = whole == 0 ? 0 : coverage[static_cast<size_t>(whole - 1)];
  if (rest == 0) return before;
  const float after = coverage[static_cast<size_t>(whole)];
  const int64_t length = std::min<int64_t>(step, std::ssize(tokens) - whole * step);
  return before + (after - before) * static_cast<float>(rest) / static_cast<float>(length);
}

TokenRanking TokenRanking::First(size_t count) const {
  if (count >= tokens.size()) return *this;
  TokenRanking first{.step = step};
  first.tokens.assign(tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(count));
  const size_t steps = count / static_cast<size_t>(step);
  first.coverage.assign(coverage.begin(), coverage.begin() + static_cast<std::ptrdiff_t>(steps));
  if (count % static_cast<size_t>(step) != 0) {
    first.coverage.push_back(Coverage(static_cast<int64_t>(count)));
  }
  return first;
}

Status CheckRanking(const TokenRanking& ranking, int vocab, const std::string& label) {
  std::vector<bool> seen(static_cast<size_t>(vocab));
  for (const Token token : ranking.tokens) {
    if (token < 0 || token >= vocab) {
      return Error{label + " holds token " + std::to_string(token) + ", expected 0 to " +
                   std::to_string(vocab - 1)};
    }
    if (seen[static_cast<size_t>(token)]) {
      return Error{label + " holds token " + std::to_string(token) +
                   " twice, expected distinct tokens"};
    }
    seen[static_cast<size_t>(token)] = true;
  }
  const auto step = static_cast<size_t>(ranking.step);
  const size_t expected = DivideUp(ranking.tokens.size(), step);
  if (ranking.coverage.size() != expected) {
    return Error{label + " has " + std::to_string(ranking.coverage.size()) +
                 " shares of coverage, expected " + std::to_string(expected) + ": one for every " +
                 std::to_string(ranking.step) + " of " + std::to_string(ranking.tokens.size()) +
                 " tokens"};
  }
  float before = 0;
  for (const float share : ranking.coverage) {
    if (!(share >= before && share <= 1)) {  // also refuses NaN
      return Error{label + " has a share of coverage " + std::to_string(share) + " after " +
                   std::to_string(before) + ", expected ascending shares up to 1"};
    }
    before = share;
  }
  return {};
}

Status CheckRankingFor(const RankingFile& file, int vocab, uint64_t vocabulary,
                       const std::string& path) {
  FT_RETURN_IF_ERROR(CheckRanking(file.ranking, vocab, path + ": field 'tokens'"));
  if (vocabulary == 0 || file.vocabulary == 0) {
    if (file.vocab == vocab) return {};
    return Error{path + ": field 'vocab_size' is " + std::to_string(file.vocab) +
                 ", expected the target's " + std::to_string(vocab) +
                 ": this ranking was made for another vocabulary"};
  }
  if (file.vocabulary == vocabulary) return {};
  return Error{path + ": field 'vocabulary' is " + std::to_string(file.vocabulary) +
               ", expected the target's " + std::to_string(vocabulary) +
               ": this ranking was made for another tokenizer"};
}

std::string RankingText(const RankingFile& file) {
  const Json json = {{"vocab_size", file.vocab},
                     {"vocabulary", file.vocabulary},
                     {"coverage_step", file.ranking.step},
                     {"coverage", file.ranking.coverage},
                     {"tokens", file.ranking.tokens}};
  return JsonText(json) + "\n";
}

Result<RankingFile> ReadRanking(const std::string& path) {
  FT_ASSIGN_OR_RETURN(const Json json, ReadJsonFile(path));
  JsonFields fields(json, path + ": ");
  RankingFile file;
  file.vocab = fields.Int("vocab_size", 1, kMostVocab);
  if (const Json* hash = fields.Find("vocabulary")) {
    if (!hash->is_number_unsigned()) fields.Wrong("vocabulary", *hash, "a hash of 64 bits");
    file.vocabulary = hash->is_number_unsigned() ? hash->get<uint64_t>() : 0;
  }
  file.ranking.step = fields.Int("coverage_step", 1, kMostStep);
  file.ranking.coverage = Shares(fields);
  if (fields.Find("tokens") == nullptr) fields.Missing("tokens", "a list of token ids");
  file.ranking.tokens = fields.Ids("tokens");
  FT_RETURN_IF_ERROR(fields.status());
  if (file.ranking.empty()) return Error{path + ": field 'tokens' is empty, expected token ids"};
  FT_RETURN_IF_ERROR(CheckRanking(file.ranking, file.vocab, path + ": field 'tokens'"));
  return file;
}

}  // namespace foretoken
