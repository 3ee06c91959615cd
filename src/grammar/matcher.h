// Reads a text byte by byte, in every way that its grammar allows at once.
//
// A configuration is the set of those ways: threads of a state of the automaton and a frame, which
// says where reading goes on when the state's rule has been read. Frames that are entered at the
// same byte by the same rule are one, so ambiguous grammars take polynomial time. Equal frames and
// configurations are one number, so what follows one is computed once.
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

// What reading a grammar may take. Tests lower them.
struct GrammarLimits {
  // Of one byte: a rule that is called and a thread that is reached once more count 1, a new thread
  // counts kNewThread. What takes more is not allowed.
  static constexpr uint32_t kNewThread = 16;
  uint32_t ways = 8192 * kNewThread;
  // Of one mask: nodes of the vocabulary's trie, and ways and edges there by kNewThread. After what
  // takes more nothing may follow.
  uint64_t mask_work = uint64_t{1} << 25;
  size_t bytes = size_t{64} << 20;  // of what a matcher, or masks, remember
};

// Thread-safety: one thread, of const functions, too.
class Matcher {
 public:
  using Frame = uint32_t;
  using Config = uint32_t;
  static constexpr Config kDead = 0;      // nothing of the grammar is left
  static constexpr Config kTooLarge = 1;  // GrammarLimits::ways were passed: nothing may follow
  // Frames of what begins the reading. Leaving the first is the end of the grammar; leaving the
  // second is to come where nothing is known (IsLeft).
  static constexpr Frame kRootFrame = 0, kUnknownFrame = 1;

  struct Thread {
    uint32_t state;
    Frame frame;
    friend auto operator<=>(const Thread&, const Thread&) = default;
  };

  explicit Matcher(std::shared_ptr<const Automaton> automaton, const GrammarLimits& limits = {});

  static bool IsAlive(Config config) { return config > kTooLarge; }

  // Where the grammar begins.
  Config Start() { return StartAt({automaton_->root(), kRootFrame}); }
  Config StartAt(Thread thread);
  // After another byte.
  Config Step(Config config, uint8_t byte);
  // After `frame` was left.
  Config Leave(Frame frame);
  // The same configuration of `other`, of the same automaton.
  Config Import(const Matcher& other, Config config);

  // Ways that the last call of StartAt, Step or Leave took, or took when it was first made.
  uint32_t ways() const { return ways_; }
  // Edges that Step looks at.
  uint32_t edges(Config config) const { return configs_[config].edges; }
  // Whether the text is complete.
  bool IsComplete(Config config) const { return configs_[config].is_complete; }
  // Whether the unknown frame was left.
  bool IsLeft(Config config) const { return configs_[config].is_left; }
  // Ways to read on. Valid until the next call that is not const.
  std::span<const Thread> threads(Config config) const {
    return std::span(threads_).subspan(configs_[config].begin, configs_[config].count);
  }
  size_t bytes() const;  // about what is remembered

 private:
  static constexpr Frame kLocal = Frame{1} << 31;  // a frame of the closure that is under way

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
  // A frame while its callers are still found.
  struct Entered {
    uint32_t rule;
    std::vector<Thread> callers;
    bool is_left = false;  // the rule may match nothing
    Frame frame = kLocal;
  };

  // The configuration of `seed_` and all that it reaches without a byte.
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
  std::vector<Span> frames_;     // into callers_; callers have lower frames
  std::vector<Thread> callers_;  // where frames go on
  std::vector<ConfigData> configs_;
  std::vector<Thread> threads_;
  std::vector<Next> next_;  // [configs, byte classes] kUnread where not asked for yet
  std::unordered_multimap<uint64_t, Frame> frames_by_hash_;
  std::unordered_multimap<uint64_t, Config> configs_by_hash_;
  std::unordered_map<Frame, Next> left_;

  // Of the closure under way.
  std::vector<Thread> open_, kept_;
  std::vector<Entered> entered_;
  std::unordered_map<uint32_t, uint32_t> entered_by_rule_;
  std::unordered_set<uint64_t> reached_;
  uint32_t ways_ = 0;
  bool is_complete_ = false, is_left_ = false;
};

}  // namespace foretoken
