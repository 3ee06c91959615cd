// A filter whose rule is given by the test.
#pragma once

#include <functional>
#include <limits>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "base/check.h"
#include "verify/logit_filter.h"

namespace foretoken {

class RuleFilter final : public LogitFilter {
 public:
  // Whether `token` may follow the tokens accepted so far.
  using Rule = std::function<bool(const std::vector<Token>& text, Token token)>;

  explicit RuleFilter(Rule rule) : rule_(std::move(rule)) {}

  std::unique_ptr<LogitFilter> Fork() const override { return std::make_unique<RuleFilter>(*this); }
  void Mask(std::span<float> logits) override {
    for (size_t t = 0; t < logits.size(); ++t) {
      if (!Allows(static_cast<Token>(t))) logits[t] = -std::numeric_limits<float>::infinity();
    }
  }
  bool Allows(Token token) override { return rule_(text_, token); }
  void Accept(Token token) override {
    FT_CHECK(Allows(token));
    text_.push_back(token);
  }
  bool MayEnd() const override { return true; }

  const std::vector<Token>& text() const { return text_; }

 private:
  Rule rule_;
  std::vector<Token> text_;
};

// Allows token 0 and about half of the other tokens, different ones after every text.
inline RuleFilter HalfFilter() {
  return RuleFilter([](const std::vector<Token>& text, Token token) {
    uint32_t hash = 7;
    for (const Token t : text) hash = hash * 31 + static_cast<uint32_t>(t) + 1;
    hash = (hash + static_cast<uint32_t>(token)) * 2654435761u;
    return hash >> 31 == 0 || token == 0;
  });
}

}  // namespace foretoken
