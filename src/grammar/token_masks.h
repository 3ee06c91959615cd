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
// below those the thread's frame is looked at (as XGrammar does). Where threads may come to more
// than GrammarLimits::ways together, the whole configuration is read along the trie instead, so
// that masks always say what Matcher::Step says. What is given up does not depend on what was
// computed before. Thread-safety: one thread.
class TokenMasks {
 public:
  TokenMasks(std::shared_ptr<const Automaton> automaton, std::shared_ptr<const TokenTrie> trie,
             const GrammarLimits& limits)
      : automaton_(std::move(automaton)), trie_(std::move(trie)), limits_(limits) {}

  const std::shared_ptr<const Automaton>& automaton() const { return automaton_; }
  const TokenTrie& trie() const { return *trie_; }
  const GrammarLimits& limits() const { return limits_; }
  // Tokens whose bytes may follow `config` of `matcher`; none where finding them takes more than
  // GrammarLimits::mask_work. Valid until the next call.
  const TokenBits& After(const std::shared_ptr<Matcher>& matcher, Matcher::Config config);
  // Whether After is known to have given up.
  bool IsGivenUp(const std::shared_ptr<Matcher>& matcher, Matcher::Config config) const;

 private:
  // What is known of a state without its frame.
  struct OfState {
    TokenBits bits;  // empty where `tokens` are listed instead: few
    std::vector<Token> tokens;
    std::vector<uint32_t> left_at;  // nodes of the trie with descendants
    uint32_t left_depth = 0;        // most of left_at on one way down the trie
    bool is_ever_left = false;
    bool is_usable = true;  // within the limits
    uint64_t work = 0;
    uint32_t ways = 0;  // most that one byte took
  };
  struct OfConfig {
    TokenBits bits;
    bool is_given_up = false;
  };

  // What may follow each thread alone. False: its sum may be beyond a limit.
  bool JoinThreads(Matcher& matcher, Matcher::Config config, TokenBits& bits);
  // Tokens that leave the rule of `thread`, and go on with what called it.
  bool JoinLeft(Matcher& matcher, const Matcher::Thread& thread, const OfState& mask,
                TokenBits& bits);
  const OfState& StateMask(Matcher& matcher, uint32_t state);
  void ListFew(OfState& mask) const;

  // Begins a walk along the trie from `config` of `matcher`.
  void Begin(Matcher& matcher, Matcher::Config config);
  // Sets the bits of tokens below `node` (of the whole trie where it is kWholeTrie) that may follow
  // the configuration given to Begin, which is where reading stands at the node. Notes in `mask`,
  // where there is one, where the unknown frame is left. Stops beyond the work of a mask.
  void Walk(uint32_t node, TokenBits& bits, OfState* mask);
  // Goes on with a matcher that remembers nothing but what the walk needs.
  void RenewReader();
  void ForgetConfigs();
  TokenBits NoTokens() const { return TokenBits((static_cast<size_t>(trie_->vocab()) + 63) / 64); }

  static constexpr uint32_t kWholeTrie = UINT32_MAX;

  std::shared_ptr<const Automaton> automaton_;
  std::shared_ptr<const TokenTrie> trie_;
  GrammarLimits limits_;
  std::unordered_map<uint32_t, OfState> states_;
  std::shared_ptr<Matcher> matcher_;  // that was asked last, and what it was asked
  std::unordered_map<Matcher::Config, OfConfig> configs_;
  size_t state_bytes_ = 0, config_bytes_ = 0;

  // Of the walk under way.
  Matcher* reader_ = nullptr;
  std::unique_ptr<Matcher> own_reader_;
  size_t most_reader_bytes_ = 0;
  std::vector<Matcher::Config> path_;  // of reader_: at the walk's node, after each byte below
  uint64_t work_ = 0;                  // of the mask or state under way
  uint32_t ways_ = 0;                  // most of one byte since it was set to 0
  bool is_too_large_ = false;          // a configuration that was walked from came to be so
};

}  // namespace foretoken
