#include "serve/stop_text.h"

#include <gtest/gtest.h>

#include <utility>

#include "base/rng.h"
#include "base/utf8.h"

namespace foretoken {
namespace {

using Stops = std::vector<std::string>;

struct Shown {
  std::string text;
  std::string stop;
  size_t taken = 0;  // bytes up to the end of the stop string, or all bytes

  friend bool operator==(const Shown&, const Shown&) = default;
};

// The expected result for `text`, found by comparing every stop string at every byte.
Shown Expected(const std::string& text, const Stops& stops) {
  for (size_t end = 1; end <= text.size(); ++end) {
    const std::string_view so_far = std::string_view(text).substr(0, end);
    std::string longest;
    for (const std::string& stop : stops) {
      if (so_far.ends_with(stop) && stop.size() > longest.size()) longest = stop;
    }
    if (longest.empty()) continue;
    return {ReplaceInvalidUtf8(so_far.substr(0, end - longest.size())), longest, end};
  }
  return {ReplaceInvalidUtf8(text), "", text.size()};
}

// Whether the suffix of `text` from `begin` may grow into a stop string or a character.
bool IsUndecided(std::string_view text, size_t begin, const Stops& stops) {
  const std::string_view rest = text.substr(begin);
  for (const std::string& stop : stops) {
    if (rest.size() < stop.size() && std::string_view(stop).starts_with(rest)) return true;
  }
  return rest.size() <= 3 && IsUtf8Prefix(rest);
}

// Pushes `text` in pieces that end at `ends`, and checks after each piece that no more than
// necessary is held back.
Shown Pushed(const std::string& text, const std::vector<size_t>& ends, const Stops& stops) {
  StopText shown(stops);
  Shown result;
  size_t begin = 0;
  for (const size_t end : ends) {
    result.text += shown.Push(std::string_view(text).substr(begin, end - begin));
    if (shown.stopped()) break;
    begin = end;
    size_t held = 0;
    for (size_t length = 1; length <= end; ++length) {
      if (IsUndecided(std::string_view(text).substr(0, end), end - length, stops)) held = length;
    }
    EXPECT_EQ(result.text, ReplaceInvalidUtf8(std::string_view(text).substr(0, end - held)));
  }
  result.text += shown.Flush();
  result.stop = shown.stop();
  result.taken = shown.stopped() ? Expected(text, stops).taken : text.size();
  EXPECT_EQ(shown.stopped(), !shown.stop().empty());
  return result;
}

// Checks every way of dividing `text` into pieces.
void ExpectSameHoweverDivided(const std::string& text, const Stops& stops) {
  ASSERT_LE(text.size(), 16u);
  const Shown expected = Expected(text, stops);
  for (uint32_t cuts = 0; cuts < 1u << (text.size() - 1); ++cuts) {
    std::vector<size_t> ends;
    for (size_t i = 1; i < text.size(); ++i) {
      if ((cuts >> (i - 1) & 1) != 0) ends.push_back(i);
    }
    ends.push_back(text.size());
    ASSERT_EQ(Pushed(text, ends, stops), expected) << text << ", cuts " << cuts;
  }
}

TEST(StopText, IsTheSameHoweverTokensDivideTheText) {
  const std::pair<std::string, Stops> cases[] = {
      {"one END two", {"END"}},
      {"EENENDx", {"END"}},
      {"abababac", {"ababac"}},
      {"xaab", {"ab", "aab", "b"}},
      {"abcd", {"abcde", "bc"}},
      {"a\n\nUser:", {"\nUser:", "\n\n"}},
      {"gr\xc3\xbc\xc3\x9f dich", {"\xc3\x9f"}},
      {"\xe4\xb8\xad\xe6\x96\x87\xe5\xad\x97", {"\xe5\xad\x97"}},
      {"\xe4\xb8\xad\xe4\xb8\xae\xe4\xb8", {"\xe4\xb8\xae\xe4\xb8\xad"}},
      {"a\xf0\x9f\x98\x80z", {"\xf0\x9f\x98\x80z"}},
      {"bad \xe4\xb8 END", {"END"}},
      {"\xff\xfe\x80", {"x"}},
      {"ends in half \xe4", {"half"}},
      {"no stop", {}},
      {"aaaa", {"aaaaa"}},
  };
  for (const auto& [text, stops] : cases) ExpectSameHoweverDivided(text, stops);
}

// Exhaustive: all texts of six letters over a small alphabet, with all pairs of short stop strings.
TEST(StopText, FindsWhatTryingEveryByteFinds) {
  Stops all;
  for (int length = 1; length <= 3; ++length) {
    for (int code = 0; code < 1 << length; ++code) {
      std::string stop;
      for (int i = 0; i < length; ++i) stop += (code >> i & 1) != 0 ? 'b' : 'a';
      all.push_back(stop);
    }
  }
  std::vector<size_t> bytes = {1, 2, 3, 4, 5, 6};
  for (int code = 0; code < 729; ++code) {
    std::string text;
    for (int rest = code, i = 0; i < 6; ++i, rest /= 3) text += "abc"[rest % 3];
    for (const std::string& first : all) {
      for (const std::string& second : all) {
        const Stops stops = {first, second};
        ASSERT_EQ(Pushed(text, bytes, stops), Expected(text, stops)) << text;
      }
    }
  }
}

TEST(StopText, FindsStopStringsInRandomTexts) {
  const std::string letters[] = {"a", "b", "\xc3\xbc", "\xe4\xb8\xad", "\xf0\x9f\x98\x80", "\xe4"};
  for (uint64_t i = 0; i < 3000; ++i) {
    uint64_t drawn = 0;
    const auto draw = [&](uint64_t below) { return Mix(i * 1000 + drawn++) % below; };
    const auto some = [&](uint64_t most, uint64_t kinds) {
      std::string text;
      for (uint64_t count = 1 + draw(most); count > 0; --count) text += letters[draw(kinds)];
      return text;
    };
    Stops stops;
    for (uint64_t count = draw(4); count > 0; --count) stops.push_back(some(4, 5));
    const std::string text = some(24, 6);
    std::vector<size_t> ends;
    for (size_t at = 0; at < text.size();) {
      at = std::min<size_t>(text.size(), at + draw(5));
      ends.push_back(at);
    }
    ASSERT_EQ(Pushed(text, ends, stops), Expected(text, stops)) << i;
  }
}

TEST(StopText, TakesNothingAfterAStopString) {
  StopText shown({"END"});
  EXPECT_EQ(shown.Push("a ENDb"), "a ");
  EXPECT_TRUE(shown.stopped());
  EXPECT_EQ(shown.Push("more"), "");
  EXPECT_EQ(shown.Flush(), "");
}

TEST(StopText, HoldsBackTheBeginningOfAStopString) {
  StopText shown({"END"});
  EXPECT_EQ(shown.Push("a E"), "a ");
  EXPECT_EQ(shown.Push("N"), "");
  EXPECT_EQ(shown.Push("ENx"), "ENENx");
  EXPECT_EQ(shown.Push("EN"), "");
  EXPECT_EQ(shown.Flush(), "EN");
}

}  // namespace
}  // namespace foretoken
