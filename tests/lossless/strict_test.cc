// The host keeps its contract with devices: on the strict backend, whose memory the host cannot
// touch, every drafter, tree and verifier gives the same text as on the backend inside it. With
// FT_TEST_BACKEND=strict:cpu other tests run on it, too.
#include <gtest/gtest.h>

#include <algorithm>

#include "backend/strict_backend_testing.h"
#include "rig.h"

namespace foretoken {
namespace {

constexpr int kNewTokens = 24;

// Reads Tensor::data of a hidden state, which works only on the CPU's memory.
class CarelessDrafter final : public Drafter {
 public:
  struct State final : DraftState {};
  TapSpec Needs() const override { return {.hidden = {2}}; }
  std::unique_ptr<DraftState> NewState() const override { return std::make_unique<State>(); }
  Status Observe(std::span<const Observation> seen) override {
    for (const Observation& o : seen) {
      sum_ += reinterpret_cast<const float*>(o.taps.Hidden(2).data)[0];
    }
    return {};
  }
  Status Propose(std::span<const DraftSlot>) override { return {}; }
  void Truncate(DraftState&, int) override {}
  Result<std::unique_ptr<DraftState>> Fork(const DraftState&, int) const override {
    return NewState();
  }

 private:
  float sum_ = 0;
};

std::vector<Token> WrittenOn(std::string_view backend, std::unique_ptr<Drafter> drafter) {
  Target target(TinyConfig(2), *NewTestBackend(backend, {.threads = 1}));
  Rig rig(target, std::move(drafter), {.max_nodes = 4, .max_depth = 3});
  return rig.Decode(RepetitivePrompt(3, 40, 97), kNewTokens, VariedSampling(2))->tokens;
}

TEST(StrictDeathTest, ADrafterThatReadsTensorsItselfFails) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH((void)WrittenOn("strict:cpu", std::make_unique<CarelessDrafter>()),
               "strict backend: the host (read|touched) device memory that only Upload, Download "
               "and other ops may touch: byte 0 of a buffer");
  EXPECT_FALSE(WrittenOn("cpu", std::make_unique<CarelessDrafter>()).empty())
      << "elsewhere nothing tells";
}

// Combinations in which every drafter, tree and verifier occurs at least once: the three lists are
// walked side by side, the shorter ones repeatedly.
std::vector<Combination> EachOnce() {
  std::vector<std::string> drafters{"none"};
  for (const Combination& c : AllCombinations()) {
    if (c.drafter != drafters.back()) drafters.push_back(c.drafter);
  }
  const auto trees = AllTrees();
  const auto verifiers = AllVerifiers();
  std::vector<Combination> all;
  for (size_t i = 0; i < std::max({drafters.size(), trees.size(), verifiers.size()}); ++i) {
    all.push_back({drafters[i % drafters.size()], std::string(trees[i % trees.size()].name),
                   std::string(verifiers[i % verifiers.size()].name)});
  }
  return all;
}

class Strict : public ::testing::TestWithParam<Combination> {
 protected:
  static void SetUpTestSuite() {
    strict_ = new Target(TinyConfig(2), *NewTestBackend("strict:cpu", {.threads = 2}));
    inside_ = new Target(TinyConfig(2), *NewTestBackend("cpu", {.threads = 1}));
  }
  static void TearDownTestSuite() {
    delete strict_;
    delete inside_;
  }

  static inline Target *strict_ = nullptr, *inside_ = nullptr;
};

// A batch of two texts, one greedy and one sampled.
TEST_P(Strict, WritesWhatTheBackendInsideWrites) {
  std::vector<std::vector<Token>> written[2];
  Target* targets[] = {inside_, strict_};
  for (size_t t = 0; t < 2; ++t) {
    Rig rig(*targets[t], GetParam());
    std::vector<std::unique_ptr<Session>> sessions;
    for (const float temperature : {0.0f, 0.8f}) {
      sessions.push_back(rig.Start({.temperature = temperature, .seed = 3}));
      const auto prompt = RepetitivePrompt(sessions.size(), 30 + 9 * std::ssize(sessions), 97);
      ASSERT_TRUE(rig.generator().Prefill(*sessions.back(), prompt, kNewTokens).ok());
    }
    for (;;) {
      std::vector<Session*> batch;
      for (const auto& s : sessions) {
        if (!s->done()) batch.push_back(s.get());
      }
      if (batch.empty()) break;
      Step(rig.generator(), batch);
    }
    for (const auto& s : sessions) written[t].push_back(s->tokens);
  }
  EXPECT_EQ(written[1], written[0]);
}

INSTANTIATE_TEST_SUITE_P(Registries, Strict, ::testing::ValuesIn(EachOnce()), [](const auto& info) {
  return ParameterName(info.param) + "_" + ParameterName(std::string_view(info.param.verifier));
});

}  // namespace
}  // namespace foretoken
