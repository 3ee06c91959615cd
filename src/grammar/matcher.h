// A matcher that reads a text byte by byte and follows all derivations of its grammar at once.
//
// A configuration is the set of all derivations: a set of threads. A thread is a state of the
// automaton and a frame, which says where matching continues after the state's rule. Frames entered
// at the same byte by the same rule are merged, so ambiguous grammars take polynomial time. Equal
// frames and equal configurations are interned as one number, so the successors of each are
// computed once.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "grammar/automaton.h"

namespace foretoken {

// Limits of the cost of matching. Tests lower them.
struct GrammarLimits {
  // Work limit per byte: calling a rule and reaching a thread again count 1, a new thread counts
  // kNewThread. A byte that needs more is rejected.
  static constexpr uint32_t kNewThread = 16;
  uint32_t ways = 8192 * kNewThread;
  // Work limit per mask: visited nodes of the vocabulary's trie, plus the ways and edges there
  // divided by kNewThread. If a mask needs more, it allows no token.
  uint64_t mask_work = uint64_t{1} << 25;
  size_t bytes = size_t{64} << 20;  // memory limit of a matcher's or a mask's cache
};

// Thread-safety: one thread, also for const functions.
class Matcher {
 public:
  using Frame = uint32_t;
  using Config = uint32_t;
  static constexpr Config kDead = 0;      // no derivation is left
  static constexpr Config kTooLarge = 1;  // GrammarLimits::ways was exceeded: nothing may follow
  // The initial frames. Leaving kRootFrame ends the grammar. Leaving kUnknownFrame means that the
  // continuation is not known (IsLeft).
  static constexpr Frame kRootFrame = 0, kUnknownFrame = 1;

  struct Thread {
    uint32_t state;
    Frame frame;
    friend auto operator<=>(const Thread&, const Thread&) = default;
  };

  explicit Matcher(std::shared_ptr<const Automaton> automaton, const GrammarLimits& limits = {});

  static bool IsAlive(Config config) { return config > kTooLarge; }

  // The configuration at the beginning of the grammar.
  Config Start() { return StartAt({automaton_->root(), kRootFrame}); }
  Config StartAt(Thread thread);
  // The configuration after one more byte.
  Config Step(Config config, uint8_t byte);
  // The configuration after leaving `frame`.
  Config Leave(Frame frame);
  // Imports a configuration of `other`, a matcher of the same automaton.
  Config Import(const Matcher& other, Config config);

  // Work of the last call of StartAt, Step or Leave; for a cached result, the work when it was
  // first computed.
  uint32_t ways() const { return ways_; }
  // Number of edges that Step examines.
  uint32_t edges(Config config) const { return configs_[config].edges; }
  // Whether the text read so far is complete.
  bool IsComplete(Config config) const { return configs_[config].is_complete; }
  // Whether kUnknownFrame was left.
  bool IsLeft(Config config) const { return configs_[config].is_left; }
  // The threads of a configuration. Valid until the next call of a non-const function.
  std::span<const Thread> threads(Config config) const {
    return std::span(threads_).subspan(configs_[config].begin, configs_[config].count);
  }
  size_t bytes() const;  // approximate memory of the caches

 private:
  static constexpr Frame kLocal = Frame{1} << 31;  // marks a frame of the closure being computed

  struct Span {
    uint32_t begin, count;
  };
  struct ConfigData {
    uint32_t begin, count, edges;
    bool is_complete, is_left;
  };
  struct Next {
    Config config;
    uint32_t ways;
  };
  // A frame whose callers are still being collected.
  struct Entered {
    uint32_t rule;
    std::vector<Thread> callers;
    bool is_left = false;  // the rule may match nothing
    Frame frame = kLocal;
  };

  // Computes the closure: the configuration of all threads reachable without consuming a byte.
  Config Close();
  void Reach(Thread thread);
  void LeaveThread(Frame frame);
  void Call(const Automaton::CallEdge& call, Frame caller);
  Frame Number(Frame local);
  Frame InternFrame(std::vector<Thread>& callers);
  Config InternConfig(std::vector<Thread>& threads, bool is_complete, bool is_left);
  std::span<const Thread> callers(Frame frame) const {
    return std::span(callers_).subspan(frames_[frame].begin, frames_[frame].count);
  }

  std::shared_ptr<const Automaton> automaton_;
  uint32_t most_ways_;
  std::vector<Span> frames_;     // into callers_; the callers' frames have lower numbers
  std::vector<Thread> callers_;  // continuations of frames
  std::vector<ConfigData> configs_;
  std::vector<Thread> threads_;
  std::vector<Next> next_;  // [configs, byte classes]; kUnread if not computed yet
  std::unordered_multimap<uint64_t, Frame> frames_by_hash_;
  std::unordered_multimap<uint64_t, Config> configs_by_hash_;
  std::unordered_map<Frame, Next> left_;

  // State of the closure being computed.
  std::vector<Thread> open_, kept_;
  std::vector<Entered> entered_;
  std::unordered_map<uint32_t, uint32_t> entered_by_rule_;
  std::unordered_set<uint64_t> reached_;
  uint32_t ways_ = 0;
  bool is_complete_ = false, is_left_ = false;
};

}  // namespace foretoken
