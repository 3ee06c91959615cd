#include "grammar/rule_checks.h"

#include <algorithm>
#include <string>

#include "base/brief.h"
#include "base/check.h"

namespace foretoken {
namespace {

using Kind = Expr::Kind;

// The rules that may match the empty text.
class EmptyRules {
 public:
  explicit EmptyRules(const GrammarRules& grammar)
      : empty_(grammar.rules.size()), calls_(grammar.rules.size()) {
    for (size_t r = 0; r < grammar.rules.size(); ++r) parts_.push_back({kNone, 1, r});
    for (size_t r = 0; r < grammar.rules.size(); ++r) Note(grammar.rules[r].body, r);
    while (!open_.empty()) {
      const Part& whole = parts_[open_.back()];
      open_.pop_back();
      if (whole.rule != kNone) {
        empty_[whole.rule] = true;
        for (const size_t call : calls_[whole.rule]) Settle(call);
      }
      if (whole.whole != kNone) Settle(whole.whole);
    }
  }

  bool MayBeEmpty(const Expr& e) const {
    const auto may = [this](const Expr& part) { return MayBeEmpty(part); };
    switch (e.kind) {
      case Kind::kText:
        return e.text.empty();
      case Kind::kChars:
        return false;
      case Kind::kRule:
        return empty_[static_cast<size_t>(e.rule)];
      case Kind::kSequence:
        return std::ranges::all_of(e.parts, may);
      case Kind::kChoice:
        return std::ranges::any_of(e.parts, may);
      case Kind::kRepeat:
        return e.min == 0 || may(e.parts[0]);
    }
    return false;
  }

 private:
  static constexpr size_t kNone = SIZE_MAX;
  struct Part {
    size_t whole;         // the enclosing part
    size_t needed;        // number of its parts that must still be found empty
    size_t rule = kNone;  // the rule whose body this is
  };

  // Records that one of the parts that `part` needs may match the empty text.
  void Settle(size_t part) {
    if (parts_[part].needed > 0 && --parts_[part].needed == 0) open_.push_back(part);
  }

  void Note(const Expr& e, size_t whole) {
    const size_t own = parts_.size();
    const bool is_open = (e.kind == Kind::kText && e.text.empty()) ||
                         (e.kind == Kind::kSequence && e.parts.empty()) ||
                         (e.kind == Kind::kRepeat && e.min == 0);
    const size_t needed = is_open ? 0 : e.kind == Kind::kSequence ? e.parts.size() : 1;
    parts_.push_back({whole, needed});
    if (needed == 0) open_.push_back(own);
    if (e.kind == Kind::kRule) calls_[static_cast<size_t>(e.rule)].push_back(own);
    for (const Expr& part : e.parts) Note(part, own);
  }

  std::vector<bool> empty_;                 // [rules]
  std::vector<std::vector<size_t>> calls_;  // [rules] parts that call each rule
  std::vector<Part> parts_;                 // the bodies of rules come first
  std::vector<size_t> open_;  // empty parts not yet propagated to their enclosing parts
};

// Appends the rules that `e` may begin with.
void FirstRules(const Expr& e, const EmptyRules& empty, std::vector<int>& out) {
  switch (e.kind) {
    case Kind::kText:
    case Kind::kChars:
      return;
    case Kind::kRule:
      out.push_back(e.rule);
      return;
    case Kind::kSequence:
      for (const Expr& part : e.parts) {
        FirstRules(part, empty, out);
        if (!empty.MayBeEmpty(part)) return;
      }
      return;
    case Kind::kChoice:
      for (const Expr& part : e.parts) FirstRules(part, empty, out);
      return;
    case Kind::kRepeat:
      if (e.max != 0) FirstRules(e.parts[0], empty, out);
      return;
  }
}

// A cycle in the relation "may begin with"; empty if there is none. `firsts`: [rules]
std::vector<int> FindCycle(const std::vector<std::vector<int>>& firsts) {
  const size_t count = firsts.size();
  std::vector<int> callers(count);  // remaining callers of each rule
  std::vector<std::vector<int>> callers_of(count);
  for (size_t r = 0; r < count; ++r) {
    for (const int first : firsts[r]) {
      ++callers[static_cast<size_t>(first)];
      callers_of[static_cast<size_t>(first)].push_back(static_cast<int>(r));
    }
  }
  std::vector<int> free;
  std::vector<bool> is_free(count);
  for (size_t r = 0; r < count; ++r) {
    if (callers[r] == 0) free.push_back(static_cast<int>(r));
  }
  while (!free.empty()) {
    const auto r = static_cast<size_t>(free.back());
    free.pop_back();
    is_free[r] = true;
    for (const int first : firsts[r]) {
      if (--callers[static_cast<size_t>(first)] == 0) free.push_back(first);
    }
  }
  const auto left = std::ranges::find(is_free, false);
  if (left == is_free.end()) return {};
  // Every remaining rule has a remaining caller, so walking back must reach a cycle.
  std::vector<int> path{static_cast<int>(left - is_free.begin())};
  std::vector<bool> is_seen(count);
  while (!is_seen[static_cast<size_t>(path.back())]) {
    is_seen[static_cast<size_t>(path.back())] = true;
    const auto& before = callers_of[static_cast<size_t>(path.back())];
    path.push_back(
        *std::ranges::find_if(before, [&](int r) { return !is_free[static_cast<size_t>(r)]; }));
  }
  path.erase(path.begin(), std::ranges::find(path, path.back()));
  std::ranges::reverse(path);
  return path;
}

}  // namespace

Status CheckLeftRecursion(const GrammarRules& rules) {
  const EmptyRules empty(rules);
  std::vector<std::vector<int>> firsts(rules.rules.size());
  for (size_t r = 0; r < firsts.size(); ++r) FirstRules(rules.rules[r].body, empty, firsts[r]);
  const std::vector<int> cycle = FindCycle(firsts);
  if (cycle.empty()) return {};
  constexpr size_t kNamed = 6;
  std::string way;
  for (size_t i = 0; i < std::min(cycle.size(), kNamed); ++i) {
    way += (i > 0 ? " -> " : "") + Brief(rules.rules[static_cast<size_t>(cycle[i])].name);
  }
  if (cycle.size() > kNamed) way += " -> ...";
  return Error{
      "a rule begins with itself (left recursion), which cannot be read from left to "
      "right: " +
      way};
}

int StatesOf(const Expr& e) {
  int64_t sum = 1;
  switch (e.kind) {
    case Kind::kText:
      sum += static_cast<int64_t>(e.text.size());
      break;
    case Kind::kChars:
      sum += 3 * static_cast<int64_t>(e.chars.size());
      break;
    case Kind::kRule:
      break;
    case Kind::kSequence:
    case Kind::kChoice:
      for (const Expr& part : e.parts) sum += StatesOf(part);
      break;
    case Kind::kRepeat:
      sum += static_cast<int64_t>(StatesOf(e.parts[0])) * std::max({e.min, e.max, 1});
      break;
  }
  return static_cast<int>(std::min<int64_t>(sum, kMostStates));
}

bool CallsRules(const Expr& e) {
  return e.kind == Kind::kRule || std::ranges::any_of(e.parts, CallsRules);
}

}  // namespace foretoken
