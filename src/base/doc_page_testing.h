// Tables in docs/ that are generated from the sources: `make docs` writes them, tests compare them.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "base/mapped_file.h"
#include "base/output_file.h"

namespace foretoken {

// Expects `text` between the markers of docs/PAGE. If FT_WRITE_DOCS is set in the environment,
// writes `text` there instead of comparing.
inline void ExpectOnPage(const std::string& page, const std::string& text) {
  const std::string path = FT_SOURCE_DIR "/docs/" + page;
  const std::string begin = "<!-- options: written by make docs -->\n", end = "<!-- end -->\n";
  std::string content(MappedFile::Open(path)->text());
  const size_t first = content.find(begin), last = content.find(end);
  ASSERT_NE(first, content.npos) << path;
  ASSERT_NE(last, content.npos) << path;
  const size_t from = first + begin.size();
  if (std::getenv("FT_WRITE_DOCS") != nullptr) {
    ASSERT_TRUE(WriteFileAtomically(path, content.replace(from, last - from, text)).ok());
  } else {
    EXPECT_EQ(content.substr(from, last - from), text) << path << " is stale: make docs";
  }
}

}  // namespace foretoken
