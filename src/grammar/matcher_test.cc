// Tests of the matcher against exhaustive search, and of the guarantees that its users rely on.
#include "grammar/matcher.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "base/rng.h"
#include "grammar/grammar_testing.h"

namespace foretoken {
namespace {

// Finds the positions where expressions may end in a text, by exhaustive search.
class EndFinder {
 public:
  EndFinder(const GrammarRules& rules, std::string_view text) : rules_(rules), text_(text) {}

  const std::set<size_t>& EndsOf(const Expr& e, size_t from) {
    const auto known = known_.find({&e, from});
    if (known != known_.end()) return known->second;
    std::set<size_t> ends = Find(e, from);
    return known_.emplace(std::make_pair(&e, from), std::move(ends)).first->second;
  }

 private:
  std::set<size_t> EndsOfAll(const Expr& e, const std::set<size_t>& begins) {
    std::set<size_t> ends;
    for (const size_t begin : begins) {
      const std::set<size_t>& more = EndsOf(e, begin);
      ends.insert(more.begin(), more.end());
    }
    return ends;
  }

  std::set<size_t> Find(const Expr& e, size_t from) {
    switch (e.kind) {
      case Expr::Kind::kText:
        if (text_.substr(from).starts_with(e.text)) return {from + e.text.size()};
        return {};
      case Expr::Kind::kChars:
        for (const CodeRange& r : e.chars) {  // only ASCII in these tests
          const auto byte = from < text_.size() ? static_cast<uint8_t>(text_[from]) : 0u;
          if (from < text_.size() && r.first <= byte && byte <= r.last) return {from + 1};
        }
        return {};
      case Expr::Kind::kRule:
        return EndsOf(rules_.rules[static_cast<size_t>(e.rule)].body, from);
      case Expr::Kind::kSequence: {
        std::set<size_t> ends{from};
        for (const Expr& part : e.parts) ends = EndsOfAll(part, ends);
        return ends;
      }
      case Expr::Kind::kChoice: {
        std::set<size_t> ends;
        for (const Expr& part : e.parts) ends.merge(std::set<size_t>(EndsOf(part, from)));
        return ends;
      }
      case Expr::Kind::kRepeat: {
        std::set<size_t> ends{from}, all;
        for (int i = 0; i <= 12; ++i) {  // more than the length of any text
          if (i >= e.min) all.insert(ends.begin(), ends.end());
          if (i == e.max) break;
          ends = EndsOfAll(e.parts[0], ends);
        }
        return all;
      }
    }
    return {};
  }

  const GrammarRules& rules_;
  std::string_view text_;
  std::map<std::pair<const Expr*, size_t>, std::set<size_t>> known_;
};

class RandomGrammar {
 public:
  explicit RandomGrammar(uint64_t seed) : seed_(seed) {}

  GrammarRules Make() {
    GrammarRules grammar;
    const int rules = 1 + Next(4);
    for (int r = 0; r < rules; ++r) grammar.rules.push_back({std::to_string(r), Make(rules, 3)});
    return grammar;
  }
  int Next(int below) { return static_cast<int>(Mix(seed_++) % static_cast<uint64_t>(below)); }

 private:
  Expr Make(int rules, int depth) {
    const int kind = Next(depth > 0 ? 8 : 3);
    if (kind == 0)
      return Expr::Text(Next(4) == 0 ? "" : std::string(1, static_cast<char>('a' + Next(2))));
    if (kind == 1) return Expr::Chars({{'a', static_cast<uint32_t>('a' + Next(2))}});
    if (kind == 2) return Expr::Rule(Next(rules));
    if (kind == 3) {
      const int min = Next(3);
      return Expr::Repeat(Make(rules, depth - 1), min,
                          Next(2) == 0 ? Expr::kUnlimited : min + Next(2));
    }
    std::vector<Expr> parts;
    for (int i = 1 + Next(3); i > 0; --i) parts.push_back(Make(rules, depth - 1));
    return kind % 2 == 0 ? Expr::Sequence(std::move(parts)) : Expr::Choice(std::move(parts));
  }

  uint64_t seed_;
};

// All texts over two letters, up to a length.
std::vector<std::string> ShortTexts(size_t longest) {
  std::vector<std::string> texts{""};
  for (size_t i = 0; i < texts.size() && texts[i].size() < longest; ++i) {
    texts.push_back(texts[i] + "a");
    texts.push_back(texts[i] + "b");
  }
  return texts;
}

TEST(Matcher, AcceptsWhatTryingEverythingAccepts) {
  const std::vector<std::string> texts = ShortTexts(6);
  int compiled = 0, accepted = 0, ended = 0;
  for (uint64_t seed = 0; seed < 1500; ++seed) {
    const GrammarRules rules = RandomGrammar(seed * 1000).Make();
    const auto grammar = Automaton::Compile(rules);
    if (!grammar.ok()) continue;  // left recursion, or no finite text
    ++compiled;
    Matcher matcher(*grammar);
    for (const std::string& text : texts) {
      Matcher::Config config = matcher.Start();
      for (const char c : text) config = matcher.Step(config, static_cast<uint8_t>(c));
      const bool expected =
          EndFinder(rules, text).EndsOf(rules.rules[0].body, 0).contains(text.size());
      ASSERT_EQ(matcher.IsComplete(config), expected) << "seed " << seed << ", text " << text;
      accepted += expected;
      ended += config == Matcher::kDead;
    }
  }
  EXPECT_GT(compiled, 500);
  EXPECT_GT(accepted, 1000);
  EXPECT_GT(ended, 1000);
}

// Every live configuration can be completed.
TEST(Matcher, EveryBeginningCanBeCompleted) {
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    RandomGrammar random(seed * 1000 + 7);
    const auto grammar = Automaton::Compile(random.Make());
    if (!grammar.ok()) continue;
    Matcher matcher(*grammar);
    Matcher::Config config = matcher.Start();
    for (int i = 0; i < 30; ++i) {
      const Matcher::Config next[] = {matcher.Step(config, 'a'), matcher.Step(config, 'b')};
      const bool is_stuck = next[0] == Matcher::kDead && next[1] == Matcher::kDead;
      ASSERT_TRUE(!is_stuck || matcher.IsComplete(config)) << "seed " << seed;
      if (is_stuck) break;
      const int side = random.Next(2);
      config = next[side] != Matcher::kDead ? next[side] : next[1 - side];
    }
  }
}

// An imported configuration behaves the same in another matcher.
TEST(Matcher, AnImportedConfigurationReadsOnAlike) {
  const auto grammar = *GrammarOfGbnf(
      "root ::= \"a\" root \"b\" | \"a\" root \"c\" | [xyz]* | \"(\" list \")\"\n"
      "list ::= root (\",\" root)*",
      "test");
  Matcher first(grammar);
  Matcher::Config at = first.Start();
  for (const char c : std::string("aa(axyb,a(")) at = first.Step(at, static_cast<uint8_t>(c));
  ASSERT_NE(at, Matcher::kDead);
  Matcher second(grammar);
  second.Step(second.Start(), 'x');  // shifts the numbering of `second`
  Matcher::Config other = second.Import(first, at);
  for (const char c : std::string("x,ayc,)b),))bc")) {
    for (int byte = 0; byte < 256; ++byte) {
      const auto b = static_cast<uint8_t>(byte);
      ASSERT_EQ(first.Step(at, b) == Matcher::kDead, second.Step(other, b) == Matcher::kDead);
    }
    at = first.Step(at, static_cast<uint8_t>(c));
    other = second.Step(other, static_cast<uint8_t>(c));
    ASSERT_EQ(first.IsComplete(at), second.IsComplete(other));
  }
}

// Ambiguous and deep grammars stay cheap: each of these would take exponential time if derivations
// were kept separately, or overflow the stack if frames were freed recursively.
TEST(Matcher, AmbiguityAndDepthStaySmall) {
  const auto ambiguous =
      *GrammarOfGbnf("root ::= \"a\" root \"b\" | \"a\" root \"c\" | \"a\" root | \"\"", "test");
  Matcher matcher(ambiguous);
  Matcher::Config config = matcher.Start();
  for (int i = 0; i < 300; ++i) config = matcher.Step(config, 'a');
  EXPECT_TRUE(matcher.IsComplete(config));
  const auto deep = *GrammarOfGbnf("root ::= \"(\" root \")\" | \"x\"", "test");
  Matcher nested(deep);
  config = nested.Start();
  constexpr int kDepth = 50'000;
  for (int i = 0; i < kDepth; ++i) config = nested.Step(config, '(');
  config = nested.Step(config, 'x');
  for (int i = 0; i < kDepth; ++i) config = nested.Step(config, ')');
  EXPECT_TRUE(nested.IsComplete(config));
}

// Right-recursive lists return to the same configuration.
TEST(Matcher, TailCallsNeedNoFrames) {
  const auto list = *GrammarOfGbnf("root ::= \"a\" | \"a,\" root", "test");
  Matcher matcher(list);
  const Matcher::Config start = matcher.Start();
  Matcher::Config config = start;
  for (const char c : std::string("a,a,a,")) config = matcher.Step(config, static_cast<uint8_t>(c));
  EXPECT_EQ(config, start);
}

}  // namespace
}  // namespace foretoken
