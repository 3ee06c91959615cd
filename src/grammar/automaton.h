// A compiled grammar: one finite automaton per rule, with edges that consume a byte or call a rule.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "grammar/rules.h"

namespace foretoken {

// Immutable. Every state can reach the end of its rule, so any accepted prefix can be completed.
class Automaton {
 public:
  struct ByteEdge {
    uint8_t first, last;
    uint32_t to;
  };
  struct CallEdge {
    uint32_t rule;
    uint32_t to;   // state after the called rule
    bool is_tail;  // the calling rule can only end after the call
  };

  // Errors: left recursion, a grammar that matches no finite text, a grammar that is too large.
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
  // Whether the rule may end in this state.
  bool may_end(uint32_t state) const { return states_[state].may_end; }
  // Equivalence class of a byte: bytes that all edges treat alike share a class.
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
