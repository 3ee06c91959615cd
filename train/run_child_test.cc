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
  const char* description = std::getenv(kRunVariable);
  ASSERT_NE(description, nullptr);
  std::vector<std::string> fields;
  std::stringstream text(description);
  for (std::string field; std::getline(text, field, '|');) fields.push_back(field);
  ASSERT_GE(fields.size(), 3u);
  const bool is_draft = fields[2] != "lm";
  TrainOptions run =
      is_draft ? TinyDraftRun(fields[0], fields[1], fields[2]) : TinyRun(fields[0], fields[1]);
  for (const std::string& field : std::span(fields).subspan(3)) {
    const size_t equals = field.find('=');
    ASSERT_TRUE(SetField(field.substr(0, equals), field.substr(equals + 1), run.recipe).ok())
        << field;
  }
  ASSERT_TRUE(Train(run).ok());
}

}  // namespace
}  // namespace foretoken::train
