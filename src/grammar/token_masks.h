// Which tokens may follow a configuration of a grammar, for a whole vocabulary at once.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "grammar/matcher.h"
#include "grammar/token_trie.h"

namespace foretoken {

// [vocab], a bit a token.
using TokenBits = std::vector<uint64_t>;

// What most tokens do depends on the state of a thread alone: they stay within its rule, or fit it
// nowhere. That is found once a state, with the nodes of the trie at which the rule is left; only
// below those the thread's frame is looked at (as XGrammar does). Thread-safety: one thread.
class TokenMasks {
 public:
  TokenMasks(std::shared_ptr<const Automaton> automaton, std::shared_ptr<const TokenTrie> trie)
      : automaton_(std::move(automaton)), trie_(std::move(trie)) {}

  const std::shared_ptr<const Automaton>& automaton() const { return automaton_; }
  const TokenTrie& trie() const { return *trie_; }
  // Tokens whose bytes may follow `config` of `matcher`. Valid until the next call.
  const TokenBits& After(const std::shared_ptr<Matcher>& matcher, Matcher::Config config);

 private:
  static constexpr size_t kMostBytes = size_t{64} << 20;  // of what is remembered

  // What is known of a state without its frame.
  struct OfState {
    TokenBits bits;  // empty where `tokens` are listed instead: few
    std::vector<Token> tokens;
    std::vector<uint32_t> left_at;  // nodes of the trie with descendants
  };
  const OfState& StateMask(Matcher& matcher, uint32_t state);
  // Sets the bits of tokens below `node` (of the whole trie where it is kWholeTrie) that may follow
  // `config`, which is where reading stands at it. Appends where the unknown frame is left.
  void Walk(Matcher& matcher, Matcher::Config config, uint32_t node, TokenBits& bits,
            std::vector<uint32_t>* left_at);
  TokenBits NoTokens() const { return TokenBits((static_cast<size_t>(trie_->vocab()) + 63) / 64); }

  static constexpr uint32_t kWholeTrie = UINT32_MAX;

  std::shared_ptr<const Automaton> automaton_;
  std::shared_ptr<const TokenTrie> trie_;
  std::unordered_map<uint32_t, OfState> states_;
  std::shared_ptr<Matcher> matcher_;  // that was asked last, and what it was asked
  std::unordered_map<Matcher::Config, TokenBits> configs_;
  std::vector<Matcher::Config> path_;
  size_t bytes_ = 0;
};

}  // namespace foretoken
