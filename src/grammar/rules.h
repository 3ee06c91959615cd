// The source form of a grammar: rules of expressions over Unicode characters.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace foretoken {

// A range of Unicode code points, both ends included.
struct CodeRange {
  uint32_t first, last;
};

// An expression that matches text.
struct Expr {
  enum class Kind : uint8_t {
    kText,      // exactly `text`; may be empty
    kChars,     // one character of `chars`
    kRule,      // the rule with index `rule`
    kSequence,  // `parts` in order
    kChoice,    // one of `parts`
    kRepeat,    // parts[0], `min` to `max` times
  };
  static constexpr int kUnlimited = -1;

  Kind kind = Kind::kText;
  std::string text = {};
  std::vector<CodeRange> chars = {};  // any order; surrogates match nothing
  int rule = 0;
  std::vector<Expr> parts = {};
  int min = 0, max = 0;  // max: kUnlimited, or at least min

  static Expr Text(std::string text) { return {.kind = Kind::kText, .text = std::move(text)}; }
  static Expr Chars(std::vector<CodeRange> chars) {
    return {.kind = Kind::kChars, .chars = std::move(chars)};
  }
  static Expr Rule(int rule) { return {.kind = Kind::kRule, .rule = rule}; }
  static Expr Sequence(std::vector<Expr> parts) {
    return {.kind = Kind::kSequence, .parts = std::move(parts)};
  }
  static Expr Choice(std::vector<Expr> parts) {
    return {.kind = Kind::kChoice, .parts = std::move(parts)};
  }
  static Expr Repeat(Expr part, int min, int max) {
    Expr repeat{.kind = Kind::kRepeat, .min = min, .max = max};
    repeat.parts.push_back(std::move(part));
    return repeat;
  }
  static Expr Optional(Expr part) { return Repeat(std::move(part), 0, 1); }
};

struct GrammarRules {
  struct Rule {
    std::string name;
    Expr body;
  };
  std::vector<Rule> rules;
  int root = 0;
};

// Limits of one grammar.
inline constexpr int kMostRules = 20'000;
inline constexpr int kMostRepeats = 10'000;   // of one {m,n}
inline constexpr int kMostStates = 400'000;   // of its automaton
inline constexpr int kMostEdges = 4'000'000;  // of its automaton during construction
inline constexpr size_t kMostGrammarBytes = size_t{1} << 20;  // of its text

}  // namespace foretoken
