// Tests of schema patterns: the texts in which they are found, and what is refused.
#include "grammar/regex.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "grammar/grammar_testing.h"

namespace foretoken {
namespace {

using ::testing::HasSubstr;

struct RegexCase {
  const char* pattern;
  std::vector<std::string> accepted, rejected;
};

TEST(Regex, FindsWhatItSays) {
  const RegexCase cases[] = {
      {"^abc$", {"abc"}, {"", "ab", "abcd", "xabc"}},
      {"b", {"b", "abc", "bb"}, {"", "ac"}},
      {"^a|b$", {"a", "ax", "xb", "b"}, {"xa", "bx", ""}},
      {"^(a|bc)+$", {"a", "abc", "bca"}, {"", "b", "ab"}},
      {"^(?:x{2}|y{1,2}|z{2,})$", {"xx", "y", "yy", "zzzz"}, {"x", "yyy", "z"}},
      {"^\\d{3}-\\w+\\s?$", {"123-a_9", "123-x "}, {"12-a", "123-", "123-\xc3\xa9"}},
      {"^[^a-c\\]]$", {"d", "\xc3\xa9", "["}, {"a", "]", ""}},
      {"^[\\w.-]+$", {"a.b-c"}, {"a b"}},
      {"^[^\\d]$", {"a"}, {"1", "\xc3\xa9"}},
      {"^.$", {"a", "\xf0\x9f\x98\x80"}, {"\n", "ab"}},
      {"^a*?b+?c??$", {"b", "aabbc"}, {"a"}},
      {"^\\x41\\u00e9\\n\\/\\.$", {"A\xc3\xa9\n/."}, {"A"}},
      {"^$", {""}, {"a"}},
      {"", {"", "a"}, {}},
  };
  for (const RegexCase& c : cases) {
    SCOPED_TRACE(c.pattern);
    const auto regex = ParseRegex(c.pattern);
    ASSERT_TRUE(regex.ok()) << regex.error().message;
    const auto grammar = *Automaton::Compile({{{"root", *regex}}, 0});
    for (const std::string& text : c.accepted) EXPECT_TRUE(Accepts(grammar, text)) << text;
    for (const std::string& text : c.rejected) EXPECT_FALSE(Accepts(grammar, text)) << text;
  }
}

TEST(Regex, RefusesWhatItDoesNotKnow) {
  const std::pair<const char*, const char*> cases[] = {
      {"(?=a)b", "look-around"},
      {"(?<n>a)", "named groups"},
      {"(a)\\1", "\\1 is not supported"},
      {"\\bword", "\\b"},
      {"\\p{L}", "\\p"},
      {"a^b", "an anchor in the middle"},
      {"(^a)", "an anchor within a group"},
      {"(a", "a group that is not closed"},
      {"a)", "closes nothing"},
      {"[a", "not closed by ]"},
      {"*a", "a quantifier of nothing"},
      {"a**", "a quantifier of a quantifier"},
      {"a{2,1}", "ends before it begins"},
      {"a{20000}", "more than 10000"},
      {"a{", "followed by no number"},
      {"\\", "a \\ at the end"},
      {"[z-a]", "ends before it begins"},
      {"\\uD800", "half a character"},
      {"[a-\\d]", "ends in a class"},
  };
  for (const auto& [pattern, expected] : cases) {
    const auto regex = ParseRegex(pattern);
    ASSERT_FALSE(regex.ok()) << pattern;
    EXPECT_THAT(regex.error().message, HasSubstr(expected)) << pattern;
  }
}

}  // namespace
}  // namespace foretoken
