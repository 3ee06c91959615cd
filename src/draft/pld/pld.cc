// Prompt lookup decoding: copies the tokens after the first earlier occurrence of the last few
// tokens.
#include <algorithm>

#include "draft/copy_confidence.h"
#include "draft/ngram_search.h"
#include "draft/options.h"
#include "draft/pld/lookup.h"
#include "draft/text_state.h"

namespace foretoken {

void LookupRule::Visit(OptionFields& fields) {
  fields.Int("k", k, 1, 1024,
             "tokens copied; an occurrence counts only if as many tokens follow it");
  fields.Int("max_ngram", max_ngram, 1, 64,
             "tokens of the longest suffix searched for, tried first");
  fields.Int("min_ngram", min_ngram, 1, max_ngram, "tokens of the shortest suffix searched for",
             {.values = "1 to max_ngram"});
}

std::span<const Token> FollowingLastNgram(std::span<const Token> text, const LookupRule& rule) {
  const int size = static_cast<int>(text.size());
  for (int n = std::min(rule.max_ngram, size - 1); n >= rule.min_ngram; --n) {
    // The copied tokens must begin before the suffix, and k of them must exist.
    const int latest = std::min(size - rule.k, size - n - 1);
    const int place = FirstPlaceAfter(text, text.last(static_cast<size_t>(n)), latest);
    if (place >= 0) {
      return text.subspan(static_cast<size_t>(place), static_cast<size_t>(rule.k));
    }
  }
  return {};
}

namespace {

class PromptLookup final : public TextDrafter {
 public:
  explicit PromptLookup(LookupRule rule) : rule_(rule) {}

 private:
  void Offer(std::span<const Token> text, TreeBuilder& builder) override {
    const std::span<const Token> found = FollowingLastNgram(text, rule_);
    if (found.empty()) return;
    const auto source = static_cast<Pos>(found.data() - text.data());
    builder.OfferRun(0, found, CopyConfidence(text, source), source);
  }

  int MostCopied() const override { return rule_.k; }

  LookupRule rule_;
};

}  // namespace

OptionTable DescribePld() { return DescribeOptions<LookupRule>(); }

Result<std::unique_ptr<Drafter>> NewPld(const DraftContext& context) {
  LookupRule rule;
  FT_RETURN_IF_ERROR(ReadOptions("pld", context.options, rule));
  return std::unique_ptr<Drafter>(std::make_unique<PromptLookup>(rule));
}

}  // namespace foretoken
