// A grammar as what reads it byte by byte: for every rule a finite automaton whose edges take a
// byte or call a rule.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "grammar/rules.h"

namespace foretoken {

// Immutable. Every state can still reach the end of its rule, so that what has been read can always
// be completed.
class Automaton {
 public:
  struct ByteEdge {
    uint8_t first, last;
    uint32_t to;
  };
  struct CallEdge {
    uint32_t rule;
    uint32_t to;   // where reading goes on once the rule has been read
    bool is_tail;  // nothing can follow there but the end of the calling rule
  };

  // Errors: a rule that begins with itself (left recursion), a grammar that no finite text matches,
  // one that is too large.
  static Result<std::shared_ptr<const Automaton>> Compile(const GrammarRules& rules);

  uint32_t root() const { return starts_[root_]; }
  uint32_t start(uint32_t rule) const { return starts_[rule]; }
  size_t rules() const { return starts_.size(); }
  size_t states() const { return states_.size(); }
  std::span<const ByteEdge> bytes(uint32_t state) const {
    return std::span(bytes_).subspan(states_[state].bytes, states_[state].byte_count);
  }
  std::span<const CallEdge> calls(uint32_t state) const {
    return std::span(calls_).subspan(states_[state].calls, states_[state].call_count);
  }
  // Whether the rule may end here.
  bool may_end(uint32_t state) const { return states_[state].may_end; }
  // Bytes that every edge treats alike have the same class.
  uint8_t byte_class(uint8_t byte) const { return classes_[byte]; }
  int byte_classes() const { return class_count_; }

 private:
  friend class AutomatonBuilder;
  struct State {
    uint32_t bytes, byte_count, calls, call_count;
    bool may_end;
  };

  void NumberByteClasses();

  std::vector<State> states_;
  std::vector<ByteEdge> bytes_;
  std::vector<CallEdge> calls_;
  std::vector<uint32_t> starts_;  // [rules]
  uint32_t root_ = 0;
  std::array<uint8_t, 256> classes_{};
  int class_count_ = 0;
};

}  // namespace foretoken
