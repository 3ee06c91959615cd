#include "grammar/matcher.h"

#include <algorithm>

#include "base/rng.h"

namespace foretoken {
namespace {

constexpr Matcher::Config kUnread = UINT32_MAX;

uint64_t HashThreads(std::span<const Matcher::Thread> threads, uint64_t hash) {
  for (const Matcher::Thread& t : threads) {
    hash = Mix(hash ^ (uint64_t{t.state} << 32 | t.frame));
  }
  return hash;
}

void SortUnique(std::vector<Matcher::Thread>& threads) {
  std::ranges::sort(threads);
  threads.erase(std::unique(threads.begin(), threads.end()), threads.end());
}

}  // namespace

Matcher::Matcher(std::shared_ptr<const Automaton> automaton, const GrammarLimits& limits)
    : automaton_(std::move(automaton)), most_ways_(limits.ways) {
  frames_ = {{0, 0}, {0, 0}};  // kRootFrame and kUnknownFrame
  std::vector<Thread> none;
  InternConfig(none, false, false);  // kDead
  configs_.push_back({});            // kTooLarge; not interned, since its contents equal kDead's
  next_.resize(2 * next_.size(), {kUnread, 0});
}

Matcher::Config Matcher::StartAt(Thread thread) {
  open_ = {thread};
  return Close();
}

Matcher::Config Matcher::Step(Config config, uint8_t byte) {
  const size_t place =
      static_cast<size_t>(config) * automaton_->byte_classes() + automaton_->byte_class(byte);
  if (next_[place].config != kUnread) {
    ways_ = next_[place].ways;
    return next_[place].config;
  }
  open_.clear();
  ways_ = 0;
  for (const Thread& t : threads(config)) {
    if (open_.size() > most_ways_) break;  // Close will return kTooLarge
    for (const Automaton::ByteEdge& edge : automaton_->bytes(t.state)) {
      if (edge.first <= byte && byte <= edge.last) open_.push_back({edge.to, t.frame});
    }
  }
  Config next = config == kTooLarge ? kTooLarge : kDead;
  if (!open_.empty()) next = Close();
  next_[place] = {next, ways_};
  return next;
}

Matcher::Config Matcher::Leave(Frame frame) {
  if (const auto known = left_.find(frame); known != left_.end()) {
    ways_ = known->second.ways;
    return known->second.config;
  }
  open_.assign(callers(frame).begin(), callers(frame).end());
  const Config config = Close();
  left_.emplace(frame, Next{config, ways_});
  return config;
}

Matcher::Config Matcher::Close() {
  kept_.clear();
  entered_.clear();
  entered_by_rule_.clear();
  reached_.clear();
  is_complete_ = is_left_ = false;
  ways_ = 0;
  std::vector<Thread> seed;
  seed.swap(open_);
  for (const Thread& t : seed) Reach(t);
  while (!open_.empty() && ways_ <= most_ways_) {
    const Thread t = open_.back();
    open_.pop_back();
    if (!automaton_->bytes(t.state).empty()) kept_.push_back(t);
    if (automaton_->may_end(t.state)) LeaveThread(t.frame);
    for (const Automaton::CallEdge& call : automaton_->calls(t.state)) Call(call, t.frame);
  }
  if (ways_ > most_ways_) return kTooLarge;
  for (Thread& t : kept_) {
    if (t.frame & kLocal) t.frame = Number(t.frame);
  }
  return InternConfig(kept_, is_complete_, is_left_);
}

void Matcher::Reach(Thread thread) {
  // Threads reached again also count, so that the sum does not depend on the order.
  if (++ways_ > most_ways_) return;
  const uint64_t key = uint64_t{thread.state} << 32 | thread.frame;
  if (!reached_.insert(key).second) return;
  ways_ += GrammarLimits::kNewThread - 1;
  open_.push_back(thread);
}

void Matcher::LeaveThread(Frame frame) {
  if (frame == kRootFrame) {
    is_complete_ = true;
  } else if (frame == kUnknownFrame) {
    is_left_ = true;
  } else if (frame & kLocal) {
    Entered& entered = entered_[frame & ~kLocal];
    if (std::exchange(entered.is_left, true)) return;
    for (const Thread& caller : entered.callers) Reach(caller);
  } else {
    for (const Thread& caller : callers(frame)) Reach(caller);
  }
}

void Matcher::Call(const Automaton::CallEdge& call, Frame caller) {
  ++ways_;
  // A tail call needs no frame, so that right-recursive lists do not grow.
  if (call.is_tail) return Reach({automaton_->start(call.rule), caller});
  const auto [known, is_new] =
      entered_by_rule_.try_emplace(call.rule, static_cast<uint32_t>(entered_.size()));
  const uint32_t index = known->second;
  if (is_new) {
    entered_.push_back({.rule = call.rule, .callers = {}});
    Reach({automaton_->start(call.rule), kLocal | index});
  }
  entered_[index].callers.push_back({call.to, caller});
  if (entered_[index].is_left) Reach({call.to, caller});
}

// Interns an entered frame, after its callers. No rule is left-recursive, so frames entered at one
// byte form no cycle.
Matcher::Frame Matcher::Number(Frame local) {
  std::vector<uint32_t> path{local & ~kLocal};
  while (!path.empty()) {
    Entered& entered = entered_[path.back()];
    size_t unnumbered = 0;
    for (Thread& caller : entered.callers) {
      if (!(caller.frame & kLocal)) continue;
      const Entered& other = entered_[caller.frame & ~kLocal];
      if (other.frame & kLocal) {
        path.push_back(caller.frame & ~kLocal);
        ++unnumbered;
        break;
      }
      caller.frame = other.frame;
    }
    if (unnumbered > 0) continue;
    if (entered.frame & kLocal) entered.frame = InternFrame(entered.callers);
    path.pop_back();
  }
  return entered_[local & ~kLocal].frame;
}

Matcher::Frame Matcher::InternFrame(std::vector<Thread>& callers_of) {
  SortUnique(callers_of);
  const uint64_t hash = HashThreads(callers_of, Mix(callers_of.size()));
  const auto [begin, end] = frames_by_hash_.equal_range(hash);
  for (auto known = begin; known != end; ++known) {
    if (std::ranges::equal(callers(known->second), callers_of)) return known->second;
  }
  const auto frame = static_cast<Frame>(frames_.size());
  frames_.push_back(
      {static_cast<uint32_t>(callers_.size()), static_cast<uint32_t>(callers_of.size())});
  callers_.insert(callers_.end(), callers_of.begin(), callers_of.end());
  frames_by_hash_.emplace(hash, frame);
  return frame;
}

Matcher::Config Matcher::InternConfig(std::vector<Thread>& kept, bool is_complete, bool is_left) {
  SortUnique(kept);
  const uint64_t flags = (is_complete ? 1 : 0) + (is_left ? 2 : 0);
  const uint64_t hash = HashThreads(kept, Mix(flags));
  const auto [begin, end] = configs_by_hash_.equal_range(hash);
  for (auto known = begin; known != end; ++known) {
    const ConfigData& data = configs_[known->second];
    if (data.is_complete == is_complete && data.is_left == is_left &&
        std::ranges::equal(threads(known->second), kept)) {
      return known->second;
    }
  }
  const auto config = static_cast<Config>(configs_.size());
  uint32_t edges = 0;
  for (const Thread& t : kept) edges += static_cast<uint32_t>(automaton_->bytes(t.state).size());
  configs_.push_back({static_cast<uint32_t>(threads_.size()), static_cast<uint32_t>(kept.size()),
                      edges, is_complete, is_left});
  threads_.insert(threads_.end(), kept.begin(), kept.end());
  next_.resize(next_.size() + static_cast<size_t>(automaton_->byte_classes()), {kUnread, 0});
  configs_by_hash_.emplace(hash, config);
  return config;
}

Matcher::Config Matcher::Import(const Matcher& other, Config config) {
  std::unordered_map<Frame, Frame> renamed{{kRootFrame, kRootFrame},
                                           {kUnknownFrame, kUnknownFrame}};
  std::vector<Frame> needed;
  const auto need = [&](std::span<const Thread> threads) {
    for (const Thread& t : threads) {
      if (renamed.try_emplace(t.frame, t.frame).second) needed.push_back(t.frame);
    }
  };
  need(other.threads(config));
  for (size_t i = 0; i < needed.size(); ++i) need(other.callers(needed[i]));
  std::ranges::sort(needed);  // ascending, so that callers come first
  const auto renamed_threads = [&](std::span<const Thread> threads) {
    std::vector<Thread> mine(threads.begin(), threads.end());
    for (Thread& t : mine) t.frame = renamed.at(t.frame);
    return mine;
  };
  for (const Frame f : needed) {
    std::vector<Thread> mine = renamed_threads(other.callers(f));
    renamed[f] = InternFrame(mine);
  }
  std::vector<Thread> mine = renamed_threads(other.threads(config));
  return InternConfig(mine, other.IsComplete(config), other.IsLeft(config));
}

size_t Matcher::bytes() const {
  constexpr size_t kHashed = 48;  // approximate bytes per entry of a hash map
  return (threads_.size() + callers_.size()) * sizeof(Thread) + next_.size() * sizeof(Next) +
         frames_.size() * (sizeof(Span) + kHashed) +
         configs_.size() * (sizeof(ConfigData) + kHashed) + left_.size() * kHashed;
}

}  // namespace foretoken
