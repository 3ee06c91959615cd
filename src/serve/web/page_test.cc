#include "serve/web/page.h"

#include <gtest/gtest.h>

#include <string>

#include "base/input_file.h"
#include "base/utf8.h"

namespace foretoken {
namespace {

TEST(WebPage, IsTheFileOfTheSources) {
  const Result<std::string> file =
      ReadText(std::string(FT_SOURCE_DIR) + "/src/serve/web/index.html");
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_EQ(WebPage(), *file);
  EXPECT_TRUE(WebPage().starts_with("<!DOCTYPE html>"));
  EXPECT_TRUE(WebPage().ends_with("</html>\n"));
  EXPECT_TRUE(IsUtf8(WebPage()));
}

// The page works offline: it loads nothing from this server or any other.
TEST(WebPage, LoadsNothing) {
  for (const char* loads : {"https:", "src=", "@import", "url(", "<iframe", "<object"})
    EXPECT_EQ(WebPage().find(loads), std::string_view::npos) << loads;
  size_t links = 0;
  for (size_t at = 0; (at = WebPage().find("href=", at)) != std::string_view::npos; ++at) {
    EXPECT_EQ(WebPage().substr(at, 11), "href=\"data:");
    ++links;
  }
  EXPECT_EQ(links, 1u);  // the icon
}

}  // namespace
}  // namespace foretoken
