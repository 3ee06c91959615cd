// Tests of GBNF: the texts that grammars accept, and the errors of invalid grammars.
#include "grammar/gbnf.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/utf8.h"
#include "grammar/grammar_testing.h"

namespace foretoken {
namespace {

using ::testing::HasSubstr;

struct GbnfCase {
  const char* grammar;
  std::vector<std::string> accepted, rejected;
};

TEST(Gbnf, AcceptsWhatItSays) {
  const GbnfCase cases[] = {
      {R"(root ::= "a" "bc" | "d")", {"abc", "d"}, {"", "a", "ab", "abcd", "dd", "abcabc"}},
      {R"(root ::= "say \"\\\" \x41\u00e9\U0001F600\t\n\r\[\]")",
       {"say \"\\\" A\xc3\xa9\xf0\x9f\x98\x80\t\n\r[]"},
       {"say"}},
      {"root ::= [a-cx] [^a-z\\n]", {"a1", "x\xc3\xa9", "cA"}, {"dA", "ab", "a\n", "a", "a11"}},
      {"root ::= [-a] [a-] [\\]\\\\]", {"--]", "a-\\", "-a]"}, {"b-]", "---"}},
      {"root ::= [\\u00e0-\\u4e00]+",
       {"\xc3\xa0", "\xe4\xb8\x80\xc3\xbf"},
       {"a", "\xe4\xb8\x81", "\xc3"}},
      {"root ::= . .",
       {"ab", "\xc3\xa9\xf0\x9f\x98\x80", "\n\n"},
       {"a",
        "\xff"
        "a",
        "\xed\xa0\x80"
        "a"}},
      {"root ::= \"a\"* \"b\"+ \"c\"?", {"b", "aab", "bbc", "abc"}, {"", "a", "ac", "bcc", "ba"}},
      {"root ::= \"ab\"{2} \"c\"{1,} \"d\"{0,2}",
       {"ababc", "ababccdd"},
       {"abc", "abab", "ababcddd"}},
      {"root ::= (\"a\" | \"b\" | ){3}", {"", "ab", "aba"}, {"abab", "c"}},
      {"root ::= (\"a\"*)*", {"", "aaa"}, {"b"}},
      {"root ::= ((\"a\" | \"\")+ \"b\")*", {"", "ab", "bab"}, {"a"}},
      {"root ::= a-b c_d # comment\na-b ::= \"1\" # and \"more\"\n\n# c\nc_d ::= \"2\"",
       {"12"},
       {"1"}},
      {"root ::=\n  \"a\" (\n  \"b\" # c\n | \"c\"\n) \"d\"\n", {"abd", "acd"}, {"ad"}},
      {"root ::= \"a\"\n  | \"b\"\n  | \"c\"\n", {"a", "b", "c"}, {"", "ab"}},
      {"root ::= | \"a\" root", {"", "aaaa"}, {"b"}},
      {"root ::= \"(\" root \")\" | \"x\"", {"x", "((x))"}, {"(x", "x)", "()"}},
      {"root ::= \"a\" root \"b\" | \"a\" root \"c\" | \"\"",
       {"", "aabc", "aaacbc"},
       {"aab", "aabcb"}},
      {"root ::= s s\ns ::= \"a\" s | \"\"", {"", "aaa"}, {"b"}},
      {"root ::= e\ne ::= t (\"+\" t)*\nt ::= [0-9]+ | \"(\" e \")\"",
       {"1+(2+33)", "7"},
       {"1+", "()"}},
      {"root ::= \"a\"{0}", {""}, {"a"}},
      {"root ::= [] | \"a\"", {"a"}, {""}},
  };
  for (const GbnfCase& c : cases) {
    SCOPED_TRACE(c.grammar);
    const auto grammar = GrammarOfGbnf(c.grammar, "test");
    ASSERT_TRUE(grammar.ok()) << grammar.error().message;
    for (const std::string& text : c.accepted) EXPECT_TRUE(Accepts(*grammar, text)) << text;
    for (const std::string& text : c.rejected) EXPECT_FALSE(Accepts(*grammar, text)) << text;
  }
}

TEST(Gbnf, NamesTheLineAndColumnOfMistakes) {
  const std::pair<const char*, const char*> cases[] = {
      {"root ::= \"a", "line 1, column 10: a text that is not closed"},
      {"root ::= [a", "line 1, column 10: characters that are not closed"},
      {"root ::= (\"a\"", "line 1, column 10: a group that is not closed"},
      {"root ::= \"a\"\nx = \"b\"", "line 2, column 3: found '=', expected ::="},
      {"root ::= \"a\")", "line 1, column 13: found ')', expected an expression"},
      {"root ::= \"\\q\"", "line 1, column 11: an unknown escape"},
      {"root ::= \"\\x1\"", "line 1, column 11: an escape of fewer than 2"},
      {"root ::= \"\\uD800\"", "names no Unicode character"},
      {"root ::= [z-a]", "line 1, column 11: a range of characters that ends before it begins"},
      {"root ::= \"a\"{3,2}", "a repetition that ends before it begins"},
      {"root ::= \"a\"{1,100000}", "a repetition of more than 10000"},
      {"root ::= \"a\"{x}", "found 'x', expected a number"},
      {"root ::= \"a\"{1", "the grammar ends, expected }"},
      {"root ::= *", "found '*'"},
      {"root ::= other", "line 1, column 10: rule 'other' is not defined"},
      {"root ::= \"a\"\nroot ::= \"b\"", "line 2, column 1: rule 'root' is defined twice"},
      {"start ::= \"a\"", "no rule named 'root'"},
      {"", "no rule named 'root'"},
      {"root ::= \"\xff\"", "line 1, column 11: a byte that is not UTF-8"},
  };
  for (const auto& [text, expected] : cases) {
    const auto rules = ParseGbnf(text, "g.gbnf");
    ASSERT_FALSE(rules.ok()) << text;
    EXPECT_THAT(rules.error().message, HasSubstr(expected)) << text;
    EXPECT_EQ(rules.error().message.rfind("g.gbnf: ", 0), 0u);
  }
}

TEST(Gbnf, RefusesRulesThatCannotBeRead) {
  const std::pair<const char*, const char*> cases[] = {
      {"root ::= root \"a\" | \"b\"", "left recursion"},
      {"root ::= \"x\"? root2\nroot2 ::= root \"a\" | \"b\"", "left recursion"},
      {"root ::= \"a\" x\nx ::= y* x \"b\" | \"c\"\ny ::= \"d\"", "x"},
      {"root ::= \"a\" root", "matches no text that ends"},
      {"root ::= []", "matches no text that ends"},
      {"root ::= ((\"a\"{1000}){1000}){1000}", "too large"},
      {"root ::= (((\"a\"?){1000}){1000}){1000}", "too large"},
  };
  for (const auto& [text, expected] : cases) {
    const auto grammar = GrammarOfGbnf(text, "g.gbnf");
    ASSERT_FALSE(grammar.ok()) << text;
    EXPECT_THAT(grammar.error().message, HasSubstr(expected)) << text;
  }
  std::string deep = "root ::= ";
  for (int i = 0; i < 5000; ++i) deep += "(";
  EXPECT_THAT(GrammarOfGbnf(deep, "g").error().message, HasSubstr("nest more than"));
  std::string repeated = "\"a\"";
  for (int i = 0; i < 3; ++i) repeated = "(" + repeated + std::string(90, '?') + ")";
  EXPECT_THAT(GrammarOfGbnf("root ::= " + repeated, "g").error().message,
              HasSubstr("too many repetitions"));
  const std::string name(5000, 'n');
  EXPECT_LT(GrammarOfGbnf("root ::= " + name, "g").error().message.size(), 200u);
}

// Expressions without states also cost memory and time when repeated often, so they are counted
// too.
TEST(Gbnf, BombsAreRefused) {
  std::string letters = "\"a\"", empties, classes, unresolved = "root ::= \"x\"";
  for (int i = 0; i < 20'000; ++i) {
    letters += "|\"b\"";
    empties += "[]|";
  }
  for (uint32_t i = 0; i < 4000; ++i) AppendUtf8(0x4E00 + 2 * i, classes);
  for (const std::string& part :
       {"(" + letters + ")", "(" + empties + "\"a\")", "[" + classes + "]"}) {
    EXPECT_THAT(GrammarOfGbnf("root ::= " + part + "{10000}", "g").error().message,
                HasSubstr("too large"));
  }
  std::string rules;
  for (int i = 0; i < 10'000; ++i) {
    const std::string name = "r" + std::to_string(i);
    unresolved += " " + name;
    rules += "\n" + name + " ::= " + (i == 0 ? "\"\"" : "r" + std::to_string(i - 1));
  }
  EXPECT_TRUE(GrammarOfGbnf(unresolved + rules, "g").ok()) << "in linear time";
}

}  // namespace
}  // namespace foretoken
