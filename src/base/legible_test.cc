// Tests of escaping bytes for a terminal.
#include "base/legible.h"

#include <gtest/gtest.h>

namespace foretoken {
namespace {

TEST(Legible, TextStaysAndTheRestIsEscaped) {
  EXPECT_EQ(Legible("dir/größe.gguf: '漢字'\n\ttwo lines"), "dir/größe.gguf: '漢字'\n\ttwo lines");
  EXPECT_EQ(Legible("a\x1b[2Jb\r\x7f"), "a\\x1b[2Jb\\x0d\\x7f");
  EXPECT_EQ(Legible("ä\xff\xc3"), "ä\\xff\\xc3");
  EXPECT_EQ(Legible("\xed\xa0\x80!"), "\\xed\\xa0\\x80!");  // a surrogate
  EXPECT_EQ(Legible(std::string(300, '\xfe')).size(), 4 * 300);
  EXPECT_EQ(Legible(std::string_view("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(Legible(""), "");
}

}  // namespace
}  // namespace foretoken
