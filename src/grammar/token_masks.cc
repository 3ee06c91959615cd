#include "grammar/token_masks.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace foretoken {
namespace {

void SetToken(Token token, TokenBits& bits) {
  const auto t = static_cast<size_t>(token);
  bits[t / 64] |= uint64_t{1} << (t % 64);
}

}  // namespace

void TokenMasks::ForgetConfigs() {
  configs_.clear();
  config_bytes_ = 0;
}

bool TokenMasks::IsGivenUp(const std::shared_ptr<Matcher>& matcher, Matcher::Config config) const {
  const auto known = matcher == matcher_ ? configs_.find(config) : configs_.end();
  return known != configs_.end() && known->second.is_given_up;
}

const TokenBits& TokenMasks::After(const std::shared_ptr<Matcher>& shared, Matcher::Config config) {
  if (std::exchange(matcher_, shared) != shared) ForgetConfigs();
  if (state_bytes_ + config_bytes_ > limits_.bytes) {
    states_.clear();
    state_bytes_ = 0;
    ForgetConfigs();
  }
  if (const auto known = configs_.find(config); known != configs_.end()) return known->second.bits;
  OfConfig mask{.bits = NoTokens()};
  work_ = 0;
  if (!JoinThreads(*shared, config, mask.bits)) {
    // Restarts the work count, since the work done so far depends on the order of threads.
    work_ = 0;
    mask.bits = NoTokens();
    Begin(*shared, config);
    Walk(kWholeTrie, mask.bits, nullptr);
    mask.is_given_up = work_ > limits_.mask_work;
    if (mask.is_given_up) mask.bits = NoTokens();
  }
  own_reader_.reset();
  config_bytes_ += mask.bits.size() * sizeof(uint64_t);
  return configs_.emplace(config, std::move(mask)).first->second.bits;
}

bool TokenMasks::JoinThreads(Matcher& matcher, Matcher::Config config, TokenBits& bits) {
  const auto begin = matcher.threads(config);
  const std::vector<Matcher::Thread> threads(begin.begin(), begin.end());
  uint64_t ways = 0;  // upper bound of the ways of the whole configuration for any byte
  for (const Matcher::Thread& thread : threads) {
    const OfState& mask = StateMask(matcher, thread.state);
    if (!mask.is_usable) return false;
    for (size_t i = 0; i < mask.bits.size(); ++i) bits[i] |= mask.bits[i];
    for (const Token token : mask.tokens) SetToken(token, bits);
    ways += mask.ways;
    const bool may_go_on = mask.is_ever_left && thread.frame != Matcher::kRootFrame;
    if (may_go_on) {  // after the end of the grammar no text follows
      if (!JoinLeft(matcher, thread, mask, bits)) return false;
      // On one path of the trie the rule may be left at several nodes and once more at its end.
      ways += uint64_t{ways_} * (mask.left_depth + 1);
    }
    if (ways > limits_.ways || work_ > limits_.mask_work) return false;
  }
  return true;
}

bool TokenMasks::JoinLeft(Matcher& matcher, const Matcher::Thread& thread, const OfState& mask,
                          TokenBits& bits) {
  const Matcher::Config left = matcher.Leave(thread.frame);
  ways_ = matcher.ways();
  work_ += ways_ / GrammarLimits::kNewThread;
  is_too_large_ = left == Matcher::kTooLarge;
  Begin(matcher, left);
  for (const uint32_t node : mask.left_at) {
    if (is_too_large_ || work_ > limits_.mask_work) return false;
    Walk(node, bits, nullptr);
  }
  return !is_too_large_ && work_ <= limits_.mask_work;
}

const TokenMasks::OfState& TokenMasks::StateMask(Matcher& matcher, uint32_t state) {
  const auto [known, is_new] = states_.try_emplace(state);
  OfState& mask = known->second;
  if (!is_new) {
    work_ += mask.work;
    return mask;
  }
  const uint64_t work_before = std::exchange(work_, 0);
  mask.bits = NoTokens();
  const Matcher::Config config = matcher.StartAt({state, Matcher::kUnknownFrame});
  ways_ = matcher.ways();
  work_ += ways_ / GrammarLimits::kNewThread;
  is_too_large_ = config == Matcher::kTooLarge;
  Begin(matcher, config);
  Walk(kWholeTrie, mask.bits, &mask);
  mask.is_usable = !is_too_large_ && work_ <= limits_.mask_work;
  mask.ways = ways_;
  mask.work = work_;
  work_ += work_before;
  if (mask.is_usable) {
    ListFew(mask);
  } else {
    mask.bits = {};
    mask.left_at = {};
  }
  state_bytes_ += sizeof mask + mask.bits.size() * sizeof(uint64_t) +
                  mask.tokens.size() * sizeof(Token) + mask.left_at.size() * sizeof(uint32_t);
  return mask;
}

void TokenMasks::ListFew(OfState& mask) const {
  size_t count = 0;
  for (const uint64_t word : mask.bits) count += static_cast<size_t>(std::popcount(word));
  if (count >= mask.bits.size()) return;
  for (Token token = 0; token < trie_->vocab(); ++token) {
    const auto t = static_cast<size_t>(token);
    if ((mask.bits[t / 64] >> (t % 64) & 1) != 0) mask.tokens.push_back(token);
  }
  mask.bits = {};
}

void TokenMasks::Begin(Matcher& matcher, Matcher::Config config) {
  reader_ = &matcher;
  most_reader_bytes_ = 2 * limits_.bytes;
  path_.assign(1, config);
  if (reader_->bytes() > most_reader_bytes_) RenewReader();
}

void TokenMasks::RenewReader() {
  auto renewed = std::make_unique<Matcher>(automaton_, limits_);
  std::unordered_map<Matcher::Config, Matcher::Config> imported;
  for (Matcher::Config& config : path_) {
    const auto [known, is_new] = imported.try_emplace(config, config);
    if (is_new && Matcher::IsAlive(config)) known->second = renewed->Import(*reader_, config);
    config = known->second;
  }
  own_reader_ = std::move(renewed);
  reader_ = own_reader_.get();
  most_reader_bytes_ = reader_->bytes() + limits_.bytes;
}

void TokenMasks::Walk(uint32_t node, TokenBits& bits, OfState* mask) {
  const std::span<const TokenTrie::Node> nodes = trie_->nodes();
  const bool is_whole = node == kWholeTrie;
  const uint32_t end = is_whole ? static_cast<uint32_t>(nodes.size()) : nodes[node].end;
  const size_t above = is_whole ? 0 : nodes[node].depth;  // depth of path_[0]
  path_.resize(1);
  std::vector<uint32_t> left_ends;  // ends of the nodes in left_at that contain the current node
  for (uint32_t n = is_whole ? 0 : node + 1; n < end && work_ <= limits_.mask_work;) {
    const TokenTrie::Node& at = nodes[n];
    path_.resize(at.depth - above);
    if (reader_->bytes() > most_reader_bytes_) RenewReader();
    const uint32_t edges = reader_->edges(path_.back());
    const Matcher::Config next = reader_->Step(path_.back(), at.byte);
    work_ += 1 + (edges + reader_->ways()) / GrammarLimits::kNewThread;
    ways_ = std::max(ways_, reader_->ways());
    is_too_large_ = is_too_large_ || next == Matcher::kTooLarge;
    if (!Matcher::IsAlive(next)) {
      n = at.end;
      continue;
    }
    for (const Token token : trie_->TokensAt(at)) SetToken(token, bits);
    ++n;
    path_.push_back(next);
    if (mask == nullptr || !reader_->IsLeft(next)) continue;
    mask->is_ever_left = true;
    if (at.end == n) continue;
    mask->left_at.push_back(n - 1);
    while (!left_ends.empty() && left_ends.back() < n) left_ends.pop_back();
    left_ends.push_back(at.end);
    mask->left_depth = std::max(mask->left_depth, static_cast<uint32_t>(left_ends.size()));
  }
}

}  // namespace foretoken
