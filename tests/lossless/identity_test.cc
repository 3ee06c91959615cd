// Promise 1: with every drafter, tree and lossless verifier, the text is the target's own. A
// drafter, tree or verifier is tested as soon as it is listed in drafters.def, trees.def or
// verifiers.def.
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

#include "base/step_testing.h"
#include "rig.h"

namespace foretoken {
namespace {

constexpr int kNew = 24;

// Two targets, with and without grouped heads, and the texts of their baseline decoding.
class Plain {
 public:
  Target& target(uint64_t i) { return targets_[i % 2]; }
  const Session& Decode(uint64_t i, bool sampled) {
    auto& session = decoded_[{i, sampled}];
    if (!session) session = rigs_[i % 2].Decode(Prompt(i), kNew, Sampling(i, sampled));
    return *session;
  }
  static std::vector<Token> Prompt(uint64_t i) {
    return RepetitivePrompt(i, 1 + static_cast<int>(i * 7 % 90), 97);
  }
  static SamplingParams Sampling(uint64_t i, bool sampled) {
    return sampled ? VariedSampling(i) : SamplingParams{};
  }

 private:
  Target targets_[2] = {Target(TinyConfig(4)), Target(TinyConfig(2))};
  Rig rigs_[2] = {Rig(targets_[0], "none"), Rig(targets_[1], "none")};
  std::map<std::pair<uint64_t, bool>, std::unique_ptr<Session>> decoded_;
};

// Prompts per combination; the environment variable FT_IDENTITY_PROMPTS replaces the number.
uint64_t PromptCount(const Combination& combination) {
  if (const char* asked = std::getenv("FT_IDENTITY_PROMPTS"); asked != nullptr) {
    return std::strtoull(asked, nullptr, 10);
  }
  return combination.tree == AllTrees()[0].name ? 80 : 6;
}

class Identity : public ::testing::TestWithParam<Combination> {
 protected:
  static void SetUpTestSuite() { plain_ = new Plain; }
  static void TearDownTestSuite() { delete plain_; }

  void ExpectSameText(bool sampled) {
    Rig rigs[2] = {Rig(plain_->target(0), GetParam()), Rig(plain_->target(1), GetParam())};
    const uint64_t prompts = PromptCount(GetParam());
    int accepted = 0;
    for (uint64_t i = 0; i < prompts; ++i) {
      const Session& expected = plain_->Decode(i, sampled);
      const auto actual = rigs[i % 2].Decode(Plain::Prompt(i), kNew, Plain::Sampling(i, sampled));
      ASSERT_EQ(actual->tokens, expected.tokens) << "prompt " << i;
      ASSERT_EQ(actual->finish, expected.finish);
      for (const Cycle& c : actual->cycles) accepted += c.n_acc;
    }
    if (prompts >= 80 && GetParam().drafter != "none") {
      EXPECT_GT(accepted, static_cast<int>(prompts / 10))
          << "drafts that are never accepted prove nothing";
    }
  }

  static inline Plain* plain_ = nullptr;
};

TEST_P(Identity, GreedyTextIsTheTargets) { ExpectSameText(/*sampled=*/false); }
TEST_P(Identity, SeededTextIsTheTargets) { ExpectSameText(/*sampled=*/true); }

// The third axis, verifiers. In greedy decoding every lossless verifier writes the target's text;
// so does typical acceptance. With sampling, each verifier may write another text, but repeats it
// exactly. With TestStep above 1, each combination runs only some verifiers, in rotation.
TEST_P(Identity, EveryVerifierKeepsGreedyTextAndRepeatsSamples) {
  const auto step = static_cast<size_t>(TestStep());
  static size_t turn = 0;
  for (size_t v = turn++ % step; v < AllVerifiers().size(); v += step) {
    const VerifierEntry& e = AllVerifiers()[v];
    Combination combination = GetParam();
    combination.verifier = e.name;
    Rig rig(plain_->target(0), combination);
    constexpr uint64_t kPrompt = 8;
    const auto greedy = rig.Decode(Plain::Prompt(kPrompt), kNew, {});
    ASSERT_EQ(greedy->tokens, plain_->Decode(kPrompt, false).tokens) << e.name;
    if (e.guarantee == Guarantee::kSameText) continue;
    const SamplingParams sampling{.temperature = 0.8f, .seed = 3};
    const auto sampled = rig.Decode(Plain::Prompt(kPrompt), kNew, sampling);
    ASSERT_EQ(sampled->written().size(), static_cast<size_t>(kNew)) << e.name;
    ASSERT_EQ(rig.Decode(Plain::Prompt(kPrompt), kNew, sampling)->tokens, sampled->tokens)
        << e.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Registries, Identity, ::testing::ValuesIn(AllCombinations()),
                         [](const auto& info) { return ParameterName(info.param); });

// The target accepts every token that the oracle drafts: the loop itself loses none.
TEST(Oracle, EveryDraftIsAcceptedToItsEnd) {
  Target target(TinyConfig(2));
  Rig plain(target, "none");
  for (uint64_t i = 0; i < 64; ++i) {
    const SamplingParams sampling = i % 2 == 0 ? SamplingParams{} : VariedSampling(i);
    const std::vector<Token> prompt = RepetitivePrompt(i, 1 + static_cast<int>(i), 97);
    const auto expected = plain.Decode(prompt, kNew, sampling);
    const int depth = 1 + static_cast<int>(i % 9);
    Rig oracle(target, std::make_unique<OracleDrafter>(expected->tokens),
               {.max_nodes = depth + 1, .max_depth = depth});
    const auto actual = oracle.Decode(prompt, kNew, sampling);
    ASSERT_EQ(actual->tokens, expected->tokens);
    int written = 1;
    for (const Cycle& c : actual->cycles) {
      ASSERT_EQ(c.n_acc, c.max_depth);
      ASSERT_EQ(c.max_depth, std::min(depth, kNew - written - 1));
      written += c.n_acc + 1;
    }
    ASSERT_EQ(written, kNew);
  }
}

class PerDrafter : public ::testing::TestWithParam<std::string> {};

// The last session of a ragged batch writes and drafts what it would alone, and drafting a second
// time gives the same tree.
TEST_P(PerDrafter, IgnoresTheBatch) {
  Target target(TinyConfig(2));
  Rig rig(target, GetParam()), alone_rig(target, GetParam());
  std::vector<std::unique_ptr<Session>> sessions;
  std::vector<std::vector<Token>> prompts;
  for (uint64_t s = 0; s < 3; ++s) {
    prompts.push_back(RepetitivePrompt(s + 50, 20 + 9 * static_cast<int>(s), 97));
    sessions.push_back(rig.Start(VariedSampling(s)));
    ASSERT_TRUE(rig.generator().Prefill(*sessions[s], prompts[s], 60 - 10 * s).ok());
  }
  const auto alone = alone_rig.Start(VariedSampling(2));
  ASSERT_TRUE(alone_rig.generator().Prefill(*alone, prompts[2], 40).ok());
  while (!alone->done()) {
    std::vector<Session*> batch;
    for (auto& s : sessions) {
      if (!s->done()) batch.push_back(s.get());
    }
    Session* single[] = {alone.get()};
    const std::string tree = Print((*alone_rig.generator().Draft(single))[0]);
    ASSERT_EQ(Print(rig.generator().Draft(batch)->back()), tree);
    ASSERT_EQ(Print(rig.generator().Draft(batch)->back()), tree) << "Propose is not repeatable";
    EXPECT_TRUE(rig.generator().Step(batch).ok());
    EXPECT_TRUE(alone_rig.generator().Step(single).ok());
    ASSERT_EQ(sessions[2]->tokens, alone->tokens);
  }
}

TEST_P(PerDrafter, ThreadsChangeNothing) {
  const std::vector<Token> prompt = RepetitivePrompt(9, 70, 97);
  Target one(TinyConfig(2), 1);
  const auto expected = Rig(one, GetParam()).Decode(prompt, 20, VariedSampling(1));
  for (int threads : {2, 3}) {
    Target many(TinyConfig(2), threads);
    const auto actual = Rig(many, GetParam()).Decode(prompt, 20, VariedSampling(1));
    ASSERT_EQ(actual->tokens, expected->tokens) << threads << " threads";
    ASSERT_EQ(actual->cycles.size(), expected->cycles.size());
  }
}

// Long prompts are read in chunks; the size of chunks changes nothing.
TEST_P(PerDrafter, PromptChunksChangeNothing) {
  const std::vector<Token> prompt = RepetitivePrompt(4, 100, 97);
  Target whole(TinyConfig(2), 1, 1, 128), chunked(TinyConfig(2), 1, 1, 16);
  const auto expected = Rig(whole, GetParam()).Decode(prompt, 50);
  const auto actual = Rig(chunked, GetParam()).Decode(prompt, 50);
  EXPECT_EQ(actual->tokens, expected->tokens);
  ASSERT_EQ(actual->cycles.size(), expected->cycles.size());
  for (size_t c = 0; c < expected->cycles.size(); ++c) {
    EXPECT_EQ(actual->cycles[c].n_acc, expected->cycles[c].n_acc);
  }
}

INSTANTIATE_TEST_SUITE_P(Drafters, PerDrafter, ::testing::ValuesIn(DrafterNames()),
                         [](const auto& info) { return ParameterName(info.param); });

}  // namespace
}  // namespace foretoken
