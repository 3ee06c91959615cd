#include "grammar/automaton.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/brief.h"
#include "grammar/code_ranges.h"
#include "grammar/rule_checks.h"

namespace foretoken {

// Builds an automaton: first states with epsilon edges, then removes those edges and the states
// that cannot reach the end.
class AutomatonBuilder {
 public:
  explicit AutomatonBuilder(const GrammarRules& rules) : rules_(rules) {}

  Result<std::shared_ptr<const Automaton>> Build() {
    if (rules_.rules.size() > kMostRules) {
      return Error{"the grammar has " + std::to_string(rules_.rules.size()) + " rules, at most " +
                   std::to_string(kMostRules) + " are taken"};
    }
    FT_RETURN_IF_ERROR(CheckLeftRecursion(rules_));
    for (const GrammarRules::Rule& rule : rules_.rules) {
      // A small rule that calls no other is inlined, so that masks of its states do not depend on
      // the caller.
      is_inlined_.push_back(StatesOf(rule.body) <= kInlined && !CallsRules(rule.body));
    }
    for (const GrammarRules::Rule& rule : rules_.rules) {
      const uint32_t start = NewState(), end = NewState();
      Connect(rule.body, start, end);
      starts_.push_back(start);
      ends_.push_back(end);
      if (is_too_large_) return TooLarge(rule.name);
    }
    Flatten();
    if (is_too_large_) return TooLarge(rules_.rules[static_cast<size_t>(rules_.root)].name);
    FindEndings();
    if (!can_end_[starts_[static_cast<size_t>(rules_.root)]]) {
      return Error{"rule '" + Brief(rules_.rules[static_cast<size_t>(rules_.root)].name) +
                   "' matches no text that ends"};
    }
    return Write();
  }

 private:
  static constexpr int kInlined = 96;  // states

  struct Draft {
    std::vector<Automaton::ByteEdge> bytes;
    std::vector<Automaton::CallEdge> calls;
    std::vector<uint32_t> free;  // epsilon edges
    bool may_end = false;
  };

  static Error TooLarge(const std::string& rule) {
    return Error{"the grammar is too large: by rule '" + Brief(rule) + "' it takes more than " +
                 std::to_string(kMostStates) + " states, or " + std::to_string(kMostEdges) +
                 " edges; its repetitions may be too long"};
  }

  uint32_t NewState() {
    is_too_large_ = is_too_large_ || drafts_.size() >= kMostStates;
    if (is_too_large_) return 0;
    drafts_.emplace_back();
    return static_cast<uint32_t>(drafts_.size() - 1);
  }

  // Adds paths from `from` to `to` that match `e`. Adds no edge into `from` nor out of `to` if they
  // differ.
  void Connect(const Expr& e, uint32_t from, uint32_t to) {
    CountEdges(1);  // expressions that add no edge also cost time
    if (is_too_large_) return;
    switch (e.kind) {
      case Expr::Kind::kText:
        return ConnectText(e.text, from, to);
      case Expr::Kind::kChars:
        return ConnectChars(e, from, to);
      case Expr::Kind::kRule: {
        const auto rule = static_cast<size_t>(e.rule);
        if (is_inlined_[rule]) return Connect(rules_.rules[rule].body, from, to);
        drafts_[from].calls.push_back({static_cast<uint32_t>(e.rule), to, false});
        return;
      }
      case Expr::Kind::kSequence:
        if (e.parts.empty()) drafts_[from].free.push_back(to);
        for (size_t i = 0; i < e.parts.size(); ++i) {
          const uint32_t next = i + 1 == e.parts.size() ? to : NewState();
          Connect(e.parts[i], from, next);
          from = next;
        }
        return;
      case Expr::Kind::kChoice:
        ConnectTexts(e.parts, from, to);
        for (const Expr& part : e.parts) {
          if (part.kind != Expr::Kind::kText) Connect(part, from, to);
        }
        return;
      case Expr::Kind::kRepeat:
        return ConnectRepeat(e, from, to);
    }
  }

  void CountEdges(size_t count) {
    edges_ += count;
    is_too_large_ = is_too_large_ || edges_ > static_cast<size_t>(kMostEdges);
  }

  void ConnectText(std::string_view text, uint32_t from, uint32_t to) {
    if (text.empty()) drafts_[from].free.push_back(to);
    for (size_t i = 0; i < text.size(); ++i) {
      const uint32_t next = i + 1 == text.size() ? to : NewState();
      const auto byte = static_cast<uint8_t>(text[i]);
      drafts_[from].bytes.push_back({byte, byte, next});
      from = next;
    }
  }

  // Adds the texts among `choices` as a trie: a common prefix shares its states, so that long lists
  // of values are matched by a single thread.
  void ConnectTexts(const std::vector<Expr>& choices, uint32_t from, uint32_t to) {
    std::map<std::pair<uint32_t, char>, uint32_t> after;
    for (const Expr& choice : choices) {
      if (choice.kind != Expr::Kind::kText) continue;
      CountEdges(1);
      if (is_too_large_) return;
      if (choice.text.empty()) ConnectText("", from, to);
      uint32_t at = from;
      for (size_t i = 0; i < choice.text.size(); ++i) {
        const auto byte = static_cast<uint8_t>(choice.text[i]);
        if (i + 1 == choice.text.size()) {
          drafts_[at].bytes.push_back({byte, byte, to});
          break;
        }
        const auto [known, is_new] = after.try_emplace({at, choice.text[i]}, 0);
        if (is_new) {
          known->second = NewState();
          drafts_[at].bytes.push_back({byte, byte, known->second});
        }
        at = known->second;
      }
    }
  }

  // Adds character classes; byte sequences with a common suffix share their last states.
  void ConnectChars(const Expr& e, uint32_t from, uint32_t to) {
    const auto [known, is_new_class] = utf8_.try_emplace(&e);
    if (is_new_class) known->second = Utf8Ranges(e.chars);
    CountEdges(known->second.size());
    if (is_too_large_) return;
    std::map<std::tuple<uint8_t, uint8_t, uint32_t>, uint32_t> before;  // states by outgoing edge
    for (const ByteRanges& bytes : known->second) {
      uint32_t next = to;
      for (size_t i = bytes.size() - 1; i > 0; --i) {
        const auto key = std::make_tuple(bytes[i].first, bytes[i].last, next);
        auto [found, is_new] = before.try_emplace(key, 0);
        if (is_new) {
          found->second = NewState();
          drafts_[found->second].bytes.push_back({bytes[i].first, bytes[i].last, next});
        }
        next = found->second;
      }
      drafts_[from].bytes.push_back({bytes[0].first, bytes[0].last, next});
    }
  }

  void ConnectRepeat(const Expr& e, uint32_t from, uint32_t to) {
    const Expr& part = e.parts[0];
    for (int i = 0; i < e.min && !is_too_large_; ++i) {
      const uint32_t next = NewState();
      Connect(part, from, next);
      from = next;
    }
    if (e.max == Expr::kUnlimited) {
      const uint32_t loop = NewState();
      drafts_[from].free.push_back(loop);
      Connect(part, loop, loop);
      drafts_[loop].free.push_back(to);
      return;
    }
    drafts_[from].free.push_back(to);
    for (int i = e.min; i < e.max && !is_too_large_; ++i) {
      const uint32_t next = NewState();
      Connect(part, from, next);
      drafts_[next].free.push_back(to);
      from = next;
    }
  }

  // Removes epsilon edges: gives every state the edges of the states it reaches through them.
  void Flatten() {
    for (const uint32_t end : ends_) drafts_[end].may_end = true;
    std::vector<Draft> flat(drafts_.size());
    std::vector<uint32_t> seen_by(drafts_.size(), UINT32_MAX), open;
    int64_t edges = 0;
    for (uint32_t s = 0; s < drafts_.size(); ++s) {
      open.assign(1, s);
      seen_by[s] = s;
      while (!open.empty()) {
        const Draft& at = drafts_[open.back()];
        open.pop_back();
        flat[s].may_end = flat[s].may_end || at.may_end;
        flat[s].bytes.insert(flat[s].bytes.end(), at.bytes.begin(), at.bytes.end());
        flat[s].calls.insert(flat[s].calls.end(), at.calls.begin(), at.calls.end());
        edges += std::ssize(at.bytes) + std::ssize(at.calls) + std::ssize(at.free);
        for (const uint32_t next : at.free) {
          if (std::exchange(seen_by[next], s) != s) open.push_back(next);
        }
        is_too_large_ = is_too_large_ || edges > kMostEdges;
        if (is_too_large_) return;
      }
    }
    drafts_ = std::move(flat);
  }

  bool CallCanEnd(const Automaton::CallEdge& call) const {
    return can_end_[starts_[call.rule]] && can_end_[call.to];
  }

  // Finds the states that can reach the end of their rule.
  void FindEndings() {
    can_end_.assign(drafts_.size(), false);
    struct Edge {
      uint32_t from;
      const Automaton::CallEdge* call;  // null: consumes a byte
    };
    std::vector<std::vector<Edge>> before(drafts_.size());  // edges into each state
    std::vector<uint32_t> open;
    const auto note = [&](uint32_t s) {
      if (can_end_[s]) return;
      can_end_[s] = true;
      open.push_back(s);
    };
    for (uint32_t s = 0; s < drafts_.size(); ++s) {
      for (const auto& edge : drafts_[s].bytes) before[edge.to].push_back({s, nullptr});
      for (const auto& edge : drafts_[s].calls) {
        before[edge.to].push_back({s, &edge});
        before[starts_[edge.rule]].push_back({s, &edge});
      }
      if (drafts_[s].may_end) note(s);
    }
    while (!open.empty()) {
      const uint32_t s = open.back();
      open.pop_back();
      for (const Edge& edge : before[s]) {
        if (edge.call == nullptr || CallCanEnd(*edge.call)) note(edge.from);
      }
    }
  }

  std::shared_ptr<const Automaton> Write() const {
    auto automaton = std::make_shared<Automaton>();
    for (const Draft& at : drafts_) {
      const auto bytes = static_cast<uint32_t>(automaton->bytes_.size());
      const auto calls = static_cast<uint32_t>(automaton->calls_.size());
      for (const Automaton::ByteEdge& edge : at.bytes) {
        if (can_end_[edge.to]) automaton->bytes_.push_back(edge);
      }
      for (Automaton::CallEdge edge : at.calls) {
        const Draft& to = drafts_[edge.to];
        edge.is_tail = to.may_end && to.bytes.empty() && to.calls.empty();
        if (CallCanEnd(edge)) automaton->calls_.push_back(edge);
      }
      automaton->states_.push_back({bytes, static_cast<uint32_t>(automaton->bytes_.size()) - bytes,
                                    calls, static_cast<uint32_t>(automaton->calls_.size()) - calls,
                                    at.may_end});
    }
    automaton->starts_ = starts_;
    automaton->root_ = static_cast<uint32_t>(rules_.root);
    automaton->NumberByteClasses();
    return automaton;
  }

  const GrammarRules& rules_;
  std::vector<bool> is_inlined_;  // [rules]
  std::vector<Draft> drafts_;
  std::vector<uint32_t> starts_, ends_;                            // [rules]
  std::vector<bool> can_end_;                                      // [states]
  std::unordered_map<const Expr*, std::vector<ByteRanges>> utf8_;  // of character classes
  size_t edges_ = 0;  // lower bound of the edges, plus calls of Connect
  bool is_too_large_ = false;
};

Result<std::shared_ptr<const Automaton>> Automaton::Compile(const GrammarRules& rules) {
  return AutomatonBuilder(rules).Build();
}

void Automaton::NumberByteClasses() {
  std::array<bool, 257> is_cut{};
  for (const ByteEdge& edge : bytes_) {
    is_cut[edge.first] = true;
    is_cut[static_cast<size_t>(edge.last) + 1] = true;
  }
  int number = 0;
  for (size_t byte = 0; byte < 256; ++byte) {
    if (byte > 0 && is_cut[byte]) ++number;
    classes_[byte] = static_cast<uint8_t>(number);
  }
  class_count_ = number + 1;
}

}  // namespace foretoken
