// What the cycles of an answer record: the tokens that the answer keeps, the depth of drafts, and
// that reading the prompt is prefill.
#include <gtest/gtest.h>

#include <numeric>

#include "rig.h"

namespace foretoken {
namespace {

// Cycles count the tokens that the answer keeps, whether it ends with a drafted token or a bonus.
TEST(CycleCounts, AreOfTokensThatTheAnswerKeeps) {
  Target target(TinyConfig(2));
  Rig plain(target, "none");
  int ended_in_drafts = 0, cut = 0;
  for (uint64_t prompt = 0; prompt < 6; ++prompt) {
    const auto whole = plain.Decode(RepetitivePrompt(prompt, 20, 97), 24);
    for (const char* verifier : {"exact", "chain"}) {
      for (const Token stop : whole->written()) {
        Rig rig(target, std::make_unique<OracleDrafter>(whole->tokens),
                {.max_nodes = 9, .max_depth = 8}, "chain", verifier);
        const auto session = rig.Decode(std::span(whole->tokens).first(20), 24, {}, 256, {stop});
        int written = 1;  // the prompt's pass wrote the first token
        for (const Cycle& c : session->cycles) {
          EXPECT_TRUE(c.written == c.n_acc + 1 || c.written == c.n_acc);
          EXPECT_LE(c.guesses.size(), static_cast<size_t>(c.written));
          written += c.written;
        }
        EXPECT_EQ(written, std::ssize(session->written()));
        if (session->cycles.empty()) continue;
        const Cycle& last = session->cycles.back();
        ended_in_drafts += last.written == last.n_acc ? 1 : 0;
        cut += last.written < last.max_depth ? 1 : 0;
      }
    }
  }
  EXPECT_GT(ended_in_drafts, 20);
  EXPECT_GT(cut, 20) << "drafts that the oracle continued behind the end";
}

// Draws after the end token are not weighed, because they are not part of the answer.
TEST(CycleCounts, WeighNoDrawsBehindTheEnd) {
  Target target(TinyConfig(2));
  const SamplingParams sampling{.temperature = 1, .seed = 3};
  int cut = 0;
  for (Token stop = 0; stop < 97; ++stop) {
    Rig rig(target, Combination{"draft-model", "chain", "chain"});
    const auto session = rig.Decode(RepetitivePrompt(4, 20, 97), 24, sampling, 256, {stop});
    for (const Cycle& c : session->cycles) {
      EXPECT_LE(c.weighed, c.written);
      cut += c.written == c.n_acc ? 1 : 0;
    }
  }
  EXPECT_GT(cut, 0);
}

// `drafted_depth` counts the levels before the tree is cut: four here, for a tree of three nodes.
TEST(CycleCounts, DepthsAreOfTheWholeDraft) {
  Target target(TinyConfig(2));
  Rig rig(target, Combination{"eagle", "eagle2:total_token=4,depth=3,top_k=4"});
  const auto session = rig.Decode(RepetitivePrompt(1, 30, 97), 40);
  int flatter = 0, written = 1;
  for (const Cycle& c : session->cycles) {
    EXPECT_EQ(c.drafted_depth, std::min(4, 40 - written - 1));
    EXPECT_LE(c.max_depth, std::min(3, c.drafted_depth));
    flatter += c.max_depth < c.drafted_depth ? 1 : 0;
    written += c.written;
  }
  EXPECT_GT(flatter, 0);
}

// Drafters that defer reading the prompt to the first draft read it once. That time is prefill and
// not part of the cycle's drafting.
TEST(CycleCounts, ReadingThePromptIsPrefill) {
  Target target(TinyConfig(2));
  for (const char* name : {"draft-model", "glide", "edd", "eagle", "eagle3", "hydra", "chimera"}) {
    Rig rig(target, name);
    const auto session = rig.Start({});
    const auto read = [&] { return rig.generator().seconds().reading; };
    double prefill = 0;
    for (int turn = 1; turn <= 2; ++turn) {  // the second continues the first
      std::vector<Token> prompt = RepetitivePrompt(2, 30, 97);
      if (turn == 2) prompt.insert(prompt.begin(), session->tokens.begin(), session->tokens.end());
      const double before = read();
      ASSERT_TRUE(rig.generator().Prefill(*session, prompt, 12).ok());
      EXPECT_EQ(read(), before) << name << " reads when it is first asked";
      prefill = rig.generator().seconds().prefill;
      Session* batch[] = {session.get()};
      ASSERT_TRUE(rig.generator().Step(batch).ok());
      const double after = read();
      EXPECT_GT(after, before) << name;
      EXPECT_DOUBLE_EQ(rig.generator().seconds().prefill, prefill + (after - before)) << name;
      while (!session->done()) ASSERT_TRUE(rig.generator().Step(batch).ok());
      EXPECT_EQ(read(), after) << name << " reads a prompt once";
    }
    double draft = 0;
    for (const Cycle& c : session->cycles) draft += c.draft_seconds;
    EXPECT_LE(draft, rig.generator().seconds().draft * (1 + 1e-9)) << name;
  }
}

}  // namespace
}  // namespace foretoken
