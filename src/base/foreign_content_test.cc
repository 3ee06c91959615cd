// Tests of content that is not the expected file, and of warnings.
#include "base/foreign_content.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "base/warning.h"

namespace foretoken {
namespace {

using testing::HasSubstr;

TEST(ForeignContent, KnowsLfsPointersAndHtmlPages) {
  const std::string pointer =
      "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 9\n";
  EXPECT_TRUE(IsLfsPointer(pointer));
  EXPECT_THAT(ForeignContent(pointer), HasSubstr("is a Git LFS pointer"));
  for (const char* page :
       {"<!DOCTYPE html><html>", "\xEF\xBB\xBF\n <!doctype HTML>", "<HTML lang=en>"}) {
    EXPECT_THAT(ForeignContent(page), HasSubstr("is an HTML page")) << page;
  }
  for (const char* other : {"", "GGUF", "<", "<htm", "{}", "  ", "version 2"}) {
    EXPECT_EQ(ForeignContent(other), "") << other;
  }
  EXPECT_THAT(ParseJson(pointer, "config.json").error().message,
              HasSubstr("config.json: is a Git LFS pointer"));
}

TEST(Warn, SaysASentenceOnceAndLegibly) {
  testing::internal::CaptureStderr();
  Warn(
      "a.gguf: is o\x01"
      "dd");
  Warn(
      "a.gguf: is o\x01"
      "dd");
  Warn("b.gguf: is odd");
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "foretoken: warning: a.gguf: is o\\x01dd\nforetoken: warning: b.gguf: is odd\n");
}

}  // namespace
}  // namespace foretoken
