#include "grammar/grammar_filter.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "grammar/token_masks.h"

namespace foretoken {
namespace {

constexpr float kForbidden = -std::numeric_limits<float>::infinity();

// State shared by a filter and its forks. When the matcher's cache grows too large, a new matcher
// replaces it, and filters import their state into it with their next token.
struct SharedGrammar {
  SharedGrammar(std::shared_ptr<const Automaton> automaton, std::shared_ptr<const TokenTrie> trie,
                const GrammarLimits& limits)
      : masks(std::move(automaton), std::move(trie), limits),
        matcher(std::make_shared<Matcher>(masks.automaton(), limits)) {}

  void Renew() {
    if (matcher->bytes() <= masks.limits().bytes) return;
    matcher = std::make_shared<Matcher>(masks.automaton(), masks.limits());
  }

  TokenMasks masks;
  std::shared_ptr<Matcher> matcher;
};

class GrammarFilter final : public LogitFilter {
 public:
  explicit GrammarFilter(std::shared_ptr<SharedGrammar> shared)
      : shared_(std::move(shared)), matcher_(shared_->matcher), config_(matcher_->Start()) {}

  std::unique_ptr<LogitFilter> Fork() const override {
    return std::make_unique<GrammarFilter>(*this);
  }

  void Mask(std::span<float> logits) override {
    const TokenTrie& trie = shared_->masks.trie();
    const auto vocab = std::min(logits.size(), static_cast<size_t>(trie.vocab()));
    std::ranges::fill(logits.subspan(vocab), kForbidden);
    std::vector<float> ends;
    for (const Token end : trie.ends()) ends.push_back(LogitOf(logits, end));
    if (has_ended_) {
      std::ranges::fill(logits, kForbidden);
    } else {
      Apply(shared_->masks.After(matcher_, config_), logits.first(vocab));
    }
    if (!MayEnd()) return;
    for (size_t i = 0; i < ends.size(); ++i) {
      const auto end = static_cast<size_t>(trie.ends()[i]);
      if (end < vocab) logits[end] = ends[i];
    }
  }

  bool Allows(Token token) override {
    const TokenTrie& trie = shared_->masks.trie();
    if (token < 0 || token >= trie.vocab()) return false;
    if (trie.IsEnd(token)) return MayEnd();
    if (has_ended_ || shared_->masks.IsGivenUp(matcher_, config_)) return false;
    return Matcher::IsAlive(After(token));
  }

  void Accept(Token token) override {
    if (!Allows(token)) {
      has_ended_ = false;
      config_ = Matcher::kDead;
      return;
    }
    if (shared_->masks.trie().IsEnd(token)) {
      has_ended_ = true;
      return;
    }
    config_ = After(token);
    shared_->Renew();
    if (matcher_ == shared_->matcher) return;
    config_ = shared_->matcher->Import(*matcher_, config_);
    matcher_ = shared_->matcher;
  }

  bool MayEnd() const override { return has_ended_ || matcher_->IsComplete(config_); }

 private:
  static float LogitOf(std::span<const float> logits, Token token) {
    const auto t = static_cast<size_t>(token);
    return t < logits.size() ? logits[t] : kForbidden;
  }

  static void Apply(const TokenBits& bits, std::span<float> logits) {
    constexpr size_t kWord = 64;
    for (size_t begin = 0; begin < logits.size(); begin += kWord) {
      const uint64_t word = bits[begin / kWord];
      if (word == ~uint64_t{0}) continue;
      const size_t count = std::min(kWord, logits.size() - begin);
      for (size_t i = 0; i < count; ++i) {
        if ((word >> i & 1) == 0) logits[begin + i] = kForbidden;
      }
    }
  }

  // The configuration after `token`, which is not an end token; kDead if it represents no text.
  Matcher::Config After(Token token) const {
    const std::string_view piece = shared_->masks.trie().Piece(token);
    Matcher::Config config = piece.empty() ? Matcher::kDead : config_;
    for (const char byte : piece) {
      if (!Matcher::IsAlive(config)) break;
      config = matcher_->Step(config, static_cast<uint8_t>(byte));
    }
    return config;
  }

  std::shared_ptr<SharedGrammar> shared_;
  std::shared_ptr<Matcher> matcher_;  // the matcher of config_
  Matcher::Config config_;
  bool has_ended_ = false;
};

}  // namespace

Result<std::unique_ptr<LogitFilter>> NewGrammarFilter(std::shared_ptr<const Automaton> grammar,
                                                      std::shared_ptr<const TokenTrie> trie,
                                                      const GrammarLimits& limits) {
  if (trie->ends().empty()) {
    return Error{
        "the model's vocabulary names no token that ends an answer, which a grammar needs"};
  }
  auto shared = std::make_shared<SharedGrammar>(std::move(grammar), std::move(trie), limits);
  return std::unique_ptr<LogitFilter>(std::make_unique<GrammarFilter>(std::move(shared)));
}

}  // namespace foretoken
