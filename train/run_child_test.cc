// The training run of child processes: tests start this program again to kill it, and workers of
// tested runs run it too.
#include <gtest/gtest.h>

#include <cstdlib>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "run_testing.h"

namespace foretoken::train {
namespace {

TEST_F(RunTest, DISABLED_Child) {
  const char* where = std::getenv(kOutVariable);
  ASSERT_NE(where, nullptr);
  std::vector<std::string> parts;
  std::stringstream text(where);
  for (std::string part; std::getline(text, part, '|');) parts.push_back(part);
  ASSERT_GE(parts.size(), 3u);
  const bool is_draft = parts[2] != "lm";
  TrainOptions run =
      is_draft ? TinyDraftRun(parts[0], parts[1], parts[2]) : TinyRun(parts[0], parts[1]);
  for (const std::string& part : std::span(parts).subspan(3)) {
    const size_t equals = part.find('=');
    ASSERT_TRUE(SetField(part.substr(0, equals), part.substr(equals + 1), run.recipe).ok()) << part;
  }
  ASSERT_TRUE(Train(run).ok());
}

}  // namespace
}  // namespace foretoken::train
