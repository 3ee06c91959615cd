// EAGLE-3's drafts, in every cycle of the engine, equal steps computed from scratch.
#include <gtest/gtest.h>

#include <limits>

#include "draft/eagle3/eagle3_testing.h"
#include "trained_drafts.h"

namespace foretoken {
namespace {

// Covers three hidden states tapped from accepted rows of trees, their fusion, and the draft's
// smaller vocabulary.
TEST(Eagle3Drafts, AreStepsFromScratch) {
  Target target(TinyConfig(2));
  const auto path = target.OptionsFor("eagle3")["draft"].get<std::string>();
  const auto net = *Eagle3Net::Load(*DraftFile::Open(path), *target.model);
  const auto logits_after = [&](std::span<const Token> tokens, std::span<const Token> drafted) {
    const auto text = tokens.first(tokens.size() - 1);
    const auto hidden = static_cast<size_t>(net->hidden());
    std::vector<float> tapped(text.size() * 3 * hidden);
    for (size_t t = 0; t < 3; ++t) {
      const std::vector<float> states = StatesOf(target, text, net->taps()[t]);
      for (size_t i = 0; i < states.size(); ++i) {
        tapped[(i / hidden * 3 + t) * hidden + i % hidden] = states[i];
      }
    }
    const EagleTrace trace = TraceEagle3(*net, tokens, tapped, drafted);
    const DraftVocabulary known = net->vocabulary();
    std::vector<float> logits(static_cast<size_t>(known.size),
                              -std::numeric_limits<float>::infinity());
    for (size_t i = 0; i < known.tokens.size(); ++i) {
      logits[static_cast<size_t>(known.tokens[i])] =
          trace.logits[trace.logits.size() - known.tokens.size() + i];
    }
    return logits;
  };
  int compared = 0;
  for (const char* tree : {"chain:gamma=5", "eagle2", "vct:width=2,depth=3"}) {
    Rig rig(target, Combination{"eagle3", tree}, 256, {.max_nodes = 40, .max_depth = 15});
    compared += ExpectDraftsFromScratch(rig, logits_after);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(compared, 100);
}

}  // namespace
}  // namespace foretoken
