#include "grammar/token_masks.h"

#include <bit>
#include <utility>

namespace foretoken {
namespace {

void SetToken(Token token, TokenBits& bits) {
  const auto t = static_cast<size_t>(token);
  bits[t / 64] |= uint64_t{1} << (t % 64);
}

}  // namespace

const TokenBits& TokenMasks::After(const std::shared_ptr<Matcher>& shared, Matcher::Config config) {
  if (std::exchange(matcher_, shared) != shared) configs_.clear();
  Matcher& matcher = *shared;
  if (bytes_ > kMostBytes) {
    states_.clear();
    configs_.clear();
    bytes_ = 0;
  }
  if (const auto known = configs_.find(config); known != configs_.end()) return known->second;
  TokenBits bits = NoTokens();
  const auto begin = matcher.threads(config);
  const std::vector<Matcher::Thread> threads(begin.begin(), begin.end());
  for (const Matcher::Thread& thread : threads) {
    const OfState& mask = StateMask(matcher, thread.state);
    for (size_t i = 0; i < mask.bits.size(); ++i) bits[i] |= mask.bits[i];
    for (const Token token : mask.tokens) SetToken(token, bits);
    if (thread.frame == Matcher::kRootFrame) continue;  // no text follows a whole one
    const Matcher::Config left = matcher.Leave(thread.frame);
    for (const uint32_t node : mask.left_at) Walk(matcher, left, node, bits, nullptr);
  }
  bytes_ += bits.size() * sizeof(uint64_t);
  return configs_.emplace(config, std::move(bits)).first->second;
}

const TokenMasks::OfState& TokenMasks::StateMask(Matcher& matcher, uint32_t state) {
  const auto [known, is_new] = states_.try_emplace(state);
  OfState& mask = known->second;
  if (!is_new) return mask;
  mask.bits = NoTokens();
  const Matcher::Config config = matcher.StartAt({state, Matcher::kUnknownFrame});
  Walk(matcher, config, kWholeTrie, mask.bits, &mask.left_at);
  size_t count = 0;
  for (const uint64_t word : mask.bits) count += static_cast<size_t>(std::popcount(word));
  if (count < mask.bits.size()) {
    for (Token token = 0; token < trie_->vocab(); ++token) {
      const auto t = static_cast<size_t>(token);
      if ((mask.bits[t / 64] >> (t % 64) & 1) != 0) mask.tokens.push_back(token);
    }
    mask.bits = {};
  }
  bytes_ += mask.bits.size() * sizeof(uint64_t) + mask.tokens.size() * sizeof(Token) +
            mask.left_at.size() * sizeof(uint32_t);
  return mask;
}

void TokenMasks::Walk(Matcher& matcher, Matcher::Config config, uint32_t node, TokenBits& bits,
                      std::vector<uint32_t>* left_at) {
  const std::span<const TokenTrie::Node> nodes = trie_->nodes();
  const bool is_whole = node == kWholeTrie;
  const uint32_t end = is_whole ? static_cast<uint32_t>(nodes.size()) : nodes[node].end;
  const size_t above = is_whole ? 0 : nodes[node].depth;  // bytes that `config` has read
  path_.assign(1, config);                                // after each byte below
  for (uint32_t n = is_whole ? 0 : node + 1; n < end;) {
    const TokenTrie::Node& at = nodes[n];
    path_.resize(at.depth - above);
    const Matcher::Config next = matcher.Step(path_.back(), at.byte);
    if (next == Matcher::kDead) {
      n = at.end;
      continue;
    }
    for (const Token token : trie_->TokensAt(at)) SetToken(token, bits);
    ++n;
    if (left_at != nullptr && matcher.IsLeft(next) && at.end > n) left_at->push_back(n - 1);
    path_.push_back(next);
  }
}

}  // namespace foretoken
