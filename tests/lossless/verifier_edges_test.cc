// Where sequences begin and end, with every verifier of verifiers.def over whole runs.
#include <gtest/gtest.h>

#include "noisy_drafter.h"
#include "rig.h"

namespace foretoken {
namespace {

constexpr int kWords = NoisyDrafter::kVocab;
constexpr char kTree[] = "eagle2:total_token=12,depth=3,top_k=3";

class VerifierEdges : public ::testing::TestWithParam<std::string> {
 protected:
  Rig NewRig(int max_nodes = 12) {
    return Rig(target_, std::make_unique<NoisyDrafter>(), {.max_nodes = max_nodes, .max_depth = 4},
               kTree, GetParam());
  }
  static SamplingParams Sampled(uint64_t seed) { return {.temperature = 2, .seed = seed}; }

  Target target_{NoisyDrafter::TargetConfig()};
};

TEST_P(VerifierEdges, NoTokenBeyondTheLimit) {
  Rig rig = NewRig();
  for (int limit = 1; limit < 12; ++limit) {
    for (uint64_t seed = 0; seed < 10; ++seed) {
      const auto session = rig.Decode(std::vector<Token>{1, 2}, limit, Sampled(seed), 32);
      ASSERT_EQ(session->written().size(), static_cast<size_t>(limit));
      ASSERT_EQ(session->finish, Finish::kLimit);
    }
  }
}

TEST_P(VerifierEdges, TheContextEndsTheAnswer) {
  Rig rig = NewRig();
  for (int capacity = 2; capacity < 14; ++capacity) {
    const auto session = rig.Decode(std::vector<Token>{4}, 100, Sampled(7), capacity);
    ASSERT_EQ(session->finish, Finish::kContext);
    ASSERT_EQ(static_cast<int>(session->tokens.size()), capacity);
  }
}

// A stop token may be the root, a drafted token or a bonus. The text is cut after it and is
// unchanged before it.
TEST_P(VerifierEdges, AStopTokenCutsTheSameText) {
  Rig rig = NewRig();
  for (uint64_t seed = 0; seed < 12; ++seed) {
    const std::vector<Token> prompt{static_cast<Token>(seed % kWords)};
    const auto whole = rig.Decode(prompt, 20, Sampled(seed), 32);
    for (Token stop = 0; stop < kWords; ++stop) {
      const auto session = rig.Decode(prompt, 20, Sampled(seed), 32, {stop});
      const auto first = std::find(whole->tokens.begin() + 1, whole->tokens.end(), stop);
      const auto end = first == whole->tokens.end() ? first : first + 1;
      ASSERT_EQ(session->tokens, std::vector<Token>(whole->tokens.begin(), end));
    }
  }
}

TEST_P(VerifierEdges, TreesOfTheRootAloneKeepTheText) {
  Rig rig = NewRig(/*max_nodes=*/1), plain(target_, Combination{.verifier = GetParam()});
  for (uint64_t seed = 0; seed < 10; ++seed) {
    const auto session = rig.Decode(std::vector<Token>{1}, 10, {.seed = seed}, 32);
    ASSERT_EQ(session->tokens, plain.Decode(std::vector<Token>{1}, 10, {.seed = seed}, 32)->tokens);
    ASSERT_EQ(rig.Decode(std::vector<Token>{1}, 10, Sampled(seed), 32)->written().size(), 10u);
  }
}

// With nearly all probability on one token, every verifier writes that token.
TEST_P(VerifierEdges, ATinyTemperatureIsGreedy) {
  Rig rig = NewRig(), plain(target_, "none");
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const std::vector<Token> prompt{static_cast<Token>(seed % kWords), 3};
    const auto cold = rig.Decode(prompt, 12, {.temperature = 2e-5f, .seed = seed}, 32);
    ASSERT_EQ(cold->tokens, plain.Decode(prompt, 12, {}, 32)->tokens);
  }
}

TEST_P(VerifierEdges, IgnoresTheBatch) {
  Rig rig = NewRig(), alone = NewRig();
  std::vector<std::unique_ptr<Session>> sessions;
  std::vector<std::vector<Token>> expected;
  for (uint64_t s = 0; s < 3; ++s) {
    const std::vector<Token> prompt(1 + s, static_cast<Token>(s));
    expected.push_back(alone.Decode(prompt, 12, Sampled(s), 64)->tokens);
    sessions.push_back(rig.Start(Sampled(s), 64));
    ASSERT_TRUE(rig.generator().Prefill(*sessions[s], prompt, 12).ok());
  }
  while (true) {
    std::vector<Session*> batch;
    for (auto& s : sessions) {
      if (!s->done()) batch.push_back(s.get());
    }
    if (batch.empty()) break;
    EXPECT_TRUE(rig.generator().Step(batch).ok());
  }
  for (size_t s = 0; s < 3; ++s) EXPECT_EQ(sessions[s]->tokens, expected[s]);
}

std::vector<std::string> Names() {
  std::vector<std::string> names;
  for (const VerifierEntry& e : AllVerifiers()) names.emplace_back(e.name);
  return names;
}
INSTANTIATE_TEST_SUITE_P(Verifiers, VerifierEdges, ::testing::ValuesIn(Names()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace foretoken
