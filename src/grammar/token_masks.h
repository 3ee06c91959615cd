// Masks of the tokens that may follow a configuration of a grammar, computed for the whole
// vocabulary.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "grammar/matcher.h"
#include "grammar/token_trie.h"

namespace foretoken {

// [vocab], one bit per token.
using TokenBits = std::vector<uint64_t>;

// Computes token masks. For most tokens the result depends only on the state of a thread: they stay
// within its rule or never match. That is computed once per state, together with the trie nodes at
// which the rule is left; only below those nodes the thread's frame is consulted (as in XGrammar).
// If the threads together might exceed GrammarLimits::ways, the whole configuration is matched
// along the trie instead, so that masks always agree with Matcher::Step. Which masks are given up
// does not depend on what was computed before. Thread-safety: one thread.
class TokenMasks {
 public:
  TokenMasks(std::shared_ptr<const Automaton> automaton, std::shared_ptr<const TokenTrie> trie,
             const GrammarLimits& limits)
      : automaton_(std::move(automaton)), trie_(std::move(trie)), limits_(limits) {}

  const std::shared_ptr<const Automaton>& automaton() const { return automaton_; }
  const TokenTrie& trie() const { return *trie_; }
  const GrammarLimits& limits() const { return limits_; }
  // The tokens whose bytes may follow `config` of `matcher`; none if computing them would need more
  // than GrammarLimits::mask_work. Valid until the next call.
  const TokenBits& After(const std::shared_ptr<Matcher>& matcher, Matcher::Config config);
  // Whether After is known to have given up on this configuration.
  bool IsGivenUp(const std::shared_ptr<Matcher>& matcher, Matcher::Config config) const;

 private:
  // The mask of a state, independent of its frame.
  struct OfState {
    TokenBits bits;  // empty if the tokens are few and listed in `tokens` instead
    std::vector<Token> tokens;
    std::vector<uint32_t> left_at;  // trie nodes with descendants where the rule is left
    uint32_t left_depth = 0;        // maximum number of nodes of left_at on a path of the trie
    bool is_ever_left = false;
    bool is_usable = true;  // computed within the limits
    uint64_t work = 0;
    uint32_t ways = 0;  // maximum ways of one byte
  };
  struct OfConfig {
    TokenBits bits;
    bool is_given_up = false;
  };

  // Joins the masks of all threads. Returns false if their total might exceed a limit.
  bool JoinThreads(Matcher& matcher, Matcher::Config config, TokenBits& bits);
  // Adds the tokens that leave the rule of `thread` and continue in its caller.
  bool JoinLeft(Matcher& matcher, const Matcher::Thread& thread, const OfState& mask,
                TokenBits& bits);
  const OfState& StateMask(Matcher& matcher, uint32_t state);
  void ListFew(OfState& mask) const;

  // Begins a walk of the trie from `config` of `matcher`.
  void Begin(Matcher& matcher, Matcher::Config config);
  // Sets the bits of the tokens below `node` (in the whole trie for kWholeTrie) that may follow the
  // configuration given to Begin, which is the configuration at `node`. Records in `mask`, unless
  // null, where the unknown frame is left. Stops at the work limit of a mask.
  void Walk(uint32_t node, TokenBits& bits, OfState* mask);
  // Replaces the reader by a fresh matcher that holds only what the walk needs.
  void RenewReader();
  void ForgetConfigs();
  TokenBits NoTokens() const { return TokenBits((static_cast<size_t>(trie_->vocab()) + 63) / 64); }

  static constexpr uint32_t kWholeTrie = UINT32_MAX;

  std::shared_ptr<const Automaton> automaton_;
  std::shared_ptr<const TokenTrie> trie_;
  GrammarLimits limits_;
  std::unordered_map<uint32_t, OfState> states_;
  std::shared_ptr<Matcher> matcher_;  // of the last call; configs_ caches its masks
  std::unordered_map<Matcher::Config, OfConfig> configs_;
  size_t state_bytes_ = 0, config_bytes_ = 0;

  // State of the current walk.
  Matcher* reader_ = nullptr;
  std::unique_ptr<Matcher> own_reader_;
  size_t most_reader_bytes_ = 0;
  std::vector<Matcher::Config> path_;  // of reader_: at the walk's node, after each byte below
  uint64_t work_ = 0;                  // of the current mask or state
  uint32_t ways_ = 0;                  // maximum of one byte since it was reset
  bool is_too_large_ = false;          // the walk reached Matcher::kTooLarge
};

}  // namespace foretoken
