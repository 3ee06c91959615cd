// Tests of Medusa's heads: whole runs and export.
#include <gtest/gtest.h>

#include "io/draft_file.h"
#include "run_testing.h"

namespace foretoken::train {
namespace {

TEST_F(RunTest, MedusaLearnsAndExports) {
  MakeTarget(FileType::kF32);
  for (const bool shared : {false, true}) {
    SCOPED_TRACE(shared);
    const std::string out = directory_ + (shared ? "/shared" : "/own");
    TrainOptions options = TinyDraftRun(directory_, out, "medusa");
    options.recipe.settings["output_heads"] = "3";
    options.recipe.settings["shared_output"] = shared ? "1" : "0";
    const auto [heldout, draft] = TrainDraft(options);
    ASSERT_NE(draft, nullptr);
    EXPECT_LT(heldout, 4.5);  // starts at log(320) = 5.8
    EXPECT_EQ(draft->info().output_heads, 3);
    EXPECT_EQ(draft->info().head_layers, 1);
    EXPECT_EQ(draft->info().Shares(kSharedHead), shared);
    EXPECT_EQ(draft->Has("head.2.output.weight"), !shared);
    EXPECT_TRUE(draft->Has("head.2.res.0.weight"));
    EXPECT_TRUE(draft->Has("head.2.res.0.bias"));
    EXPECT_EQ(draft->tensors().size(), shared ? 6u : 9u);
  }
}

}  // namespace
}  // namespace foretoken::train
