// LLMA: looks up the last few tokens in documents from the user, then in the text itself, and
// copies the tokens that follow them there.
#include <algorithm>
#include <functional>
#include <string>

#include "base/json.h"
#include "base/mapped_file.h"
#include "draft/llma/reference_lookup.h"
#include "draft/ngram_search.h"
#include "draft/options.h"
#include "draft/text_state.h"
#include "text/tokenizer.h"

namespace foretoken {
namespace {

std::span<const Token> Copied(std::span<const Token> source, int place, int k) {
  const auto rest = source.subspan(static_cast<size_t>(place));
  return rest.first(std::min(rest.size(), static_cast<size_t>(k)));
}

// The position in `text` at which `part` begins, if `part` is a view into it; otherwise kNoPos.
Pos PositionIn(std::span<const Token> text, std::span<const Token> part) {
  const std::less<const Token*> before;
  const Token *begin = text.data(), *end = begin + text.size();
  if (part.empty() || before(part.data(), begin) || !before(part.data(), end)) return kNoPos;
  return static_cast<Pos>(part.data() - begin);
}

}  // namespace

std::span<const Token> FollowingInReferences(std::span<const std::vector<Token>> references,
                                             std::span<const Token> text,
                                             const ReferenceRule& rule) {
  const int size = static_cast<int>(text.size());
  for (int n = std::min(rule.max_ngram, size); n >= rule.min_ngram; --n) {
    const auto suffix = text.last(static_cast<size_t>(n));
    for (const std::vector<Token>& reference : references) {
      const int place = FirstPlaceAfter(reference, suffix, static_cast<int>(reference.size()) - 1);
      if (place >= 0) return Copied(reference, place, rule.k);
    }
    const int place = FirstPlaceAfter(text, suffix, size - n - 1);
    if (place >= 0) return Copied(text, place, rule.k);
  }
  return {};
}

namespace {

// The files named by option "reference" (one, or a list), as token ids.
Result<std::vector<std::vector<Token>>> ReadReferences(const Json& value,
                                                       const Tokenizer* tokenizer) {
  if (tokenizer == nullptr) return Error{"drafter llma: the model has no tokenizer"};
  std::vector<std::vector<Token>> references;
  for (const Json& name : value.is_array() ? value : Json::array({value})) {
    if (!name.is_string()) {
      return Error{"drafter llma: option reference: found " + JsonText(name) + ", expected a file"};
    }
    FT_ASSIGN_OR_RETURN(const MappedFile file, MappedFile::Open(name.get<std::string>()));
    references.push_back(tokenizer->Encode(file.text(), {.add_bos = false}));
  }
  return references;
}

struct LlmaOptions {
  const Json* reference = nullptr;
  ReferenceRule rule;
  void Visit(OptionFields& fields) {
    fields.Raw("reference", reference, "a file; repeatable", "a document that it copies from");
    fields.Int("k", rule.k, 1, 1024, "maximum tokens copied");
    fields.Int("max_ngram", rule.max_ngram, 1, 64,
               "tokens of the longest suffix searched for, tried first");
    fields.Int("min_ngram", rule.min_ngram, 1, rule.max_ngram,
               "tokens of the shortest suffix searched for", {.values = "1 to max_ngram"});
  }
};

class ReferenceCopier final : public TextDrafter {
 public:
  ReferenceCopier(std::vector<std::vector<Token>> references, ReferenceRule rule)
      : references_(std::move(references)), rule_(rule) {}

 private:
  void Offer(std::span<const Token> text, TreeBuilder& builder) override {
    // The confidence of the copied run. The predicted run, the only other one, has a higher
    // confidence after a match of three tokens or more.
    constexpr float kConfidence = -0.5f;
    const auto found = FollowingInReferences(references_, text, rule_);
    builder.OfferRun(0, found, kConfidence, PositionIn(text, found));
  }

  int MostCopied() const override { return rule_.k; }

  std::vector<std::vector<Token>> references_;
  ReferenceRule rule_;
};

}  // namespace

OptionTable DescribeLlma() { return DescribeOptions<LlmaOptions>(); }

Result<std::unique_ptr<Drafter>> NewLlma(const DraftContext& context) {
  LlmaOptions options;
  FT_RETURN_IF_ERROR(ReadOptions("llma", context.options, options));
  FT_ASSIGN_OR_RETURN(auto references, ReadReferences(*options.reference, context.tokenizer));
  return std::unique_ptr<Drafter>(
      std::make_unique<ReferenceCopier>(std::move(references), options.rule));
}

}  // namespace foretoken
