// The distribution of texts that the whole engine writes: with every lossless verifier, pairs of
// tokens follow their exact probabilities under the target.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "noisy_drafter.h"
#include "rig.h"

#ifndef FT_LAW_SAMPLES
#define FT_LAW_SAMPLES 15000
#endif

namespace foretoken {
namespace {

constexpr int kVocab = NoisyDrafter::kVocab;

// Records the target's distribution after a prompt, with the sampling as `adapting` changes it.
class Recorder final : public Verifier {
 public:
  Recorder(Backend& backend, const Verifier& adapting) : backend_(backend), adapting_(adapting) {}
  SamplingParams Adapt(SamplingParams asked) const override { return adapting_.Adapt(asked); }
  std::vector<Acceptance> Verify(std::span<const Scoring> batch) override {
    const Scoring& s = batch[0];
    std::vector<float> row(static_cast<size_t>(s.logits.cols));
    backend_.Download(s.logits.Rows(0, 1), row.data());
    seen = s.sampler.Probabilities(row, s.history);
    return {{{0}, 0}};
  }
  std::vector<float> seen;

 private:
  Backend& backend_;
  const Verifier& adapting_;
};

class EngineLaw : public ::testing::TestWithParam<Combination> {
 protected:
  EngineLaw() : target_(NoisyDrafter::TargetConfig()) {}

  std::vector<float> LawAfter(std::vector<Token> text, const SamplingParams& sampling) {
    const auto verifier = *NewVerifier(GetParam().verifier, {*target_.backend, Json::object()});
    Recorder recorder(*target_.backend, *verifier);
    Generator generator(*target_.model, nullptr, recorder, {});
    const auto session = generator.Start({.sampling = sampling, .capacity = 32});
    EXPECT_TRUE(generator.Prefill(*session, text, 1).ok());
    return recorder.seen;
  }

  using Pairs = std::array<double, kVocab * kVocab>;

  // Adds to `pairs` the exact probabilities, times `weight`, of the second and third token written
  // after the prompt.
  void AddLaw(const std::vector<Token>& text, double weight, const SamplingParams& sampling,
              Pairs& pairs) {
    constexpr size_t kPromptAndThree = 6;
    if (text.size() == kPromptAndThree) {
      pairs[static_cast<size_t>(text[4] * kVocab + text[5])] += weight;
      return;
    }
    const std::vector<float> law = LawAfter(text, sampling);
    for (Token t = 0; t < kVocab; ++t) {
      if (law[static_cast<size_t>(t)] == 0) continue;
      std::vector<Token> longer = text;
      longer.push_back(t);
      AddLaw(longer, weight * law[static_cast<size_t>(t)], sampling, pairs);
    }
  }

  Target target_;
};

// The prompt's pass writes the first token; cycles write the second and third, which are compared.
TEST_P(EngineLaw, TokenPairsFollowTheExactProbabilities) {
  const SamplingParams sampling{.temperature = 2.5f, .min_p = 0.02f, .presence_penalty = 0.2f};
  const std::vector<Token> prompt{1, 5, 2};
  Rig rig(target_, std::make_unique<NoisyDrafter>(), {.max_nodes = 9, .max_depth = 3},
          GetParam().tree, GetParam().verifier);
  Pairs seen{}, expected{};
  const auto verifier = *NewVerifier(GetParam().verifier, {*target_.backend, Json::object()});
  const bool weighs_draws = verifier->NeedsDraws();
  std::vector<std::vector<Cycle>> cycles;
  int accepted = 0;
  for (uint64_t seed = 0; seed < FT_LAW_SAMPLES; ++seed) {
    SamplingParams seeded = sampling;
    seeded.seed = seed;
    const auto session = rig.Decode(prompt, 5, seeded, 32);
    const auto written = session->written();
    ++seen[static_cast<size_t>(written[1] * kVocab + written[2])];
    for (const Cycle& c : session->cycles) accepted += c.n_acc;
    if (weighs_draws) cycles.push_back(session->cycles);
  }
  EXPECT_GT(accepted, FT_LAW_SAMPLES / 4);
  if (weighs_draws && GetParam().tree == "chain") {
    // With one draw per position, the mean overlap is the acceptance rate.
    const Metrics m = Summarise(cycles);
    double judged = 0, taken = 0;
    for (const StepAcceptance& step : m.alpha_n) judged += step.reached, taken += step.accepted;
    EXPECT_NEAR(m.alpha_lev, taken / judged, 0.02);
  }
  AddLaw(prompt, FT_LAW_SAMPLES, sampling, expected);
  double chi2 = 0;
  int cells = 0;
  for (size_t i = 0; i < seen.size(); ++i) {
    if (expected[i] == 0) {
      ASSERT_EQ(seen[i], 0);
      continue;
    }
    ++cells;
    chi2 += (seen[i] - expected[i]) * (seen[i] - expected[i]) / expected[i];
  }
  const double freedom = cells - 1, v = 2.0 / (9.0 * freedom);
  EXPECT_GT(cells, 10);
  // The 1 % critical value of chi-squared (Wilson and Hilferty).
  EXPECT_LT(chi2, freedom * std::pow(1 - v + 2.3263 * std::sqrt(v), 3));
}

std::vector<Combination> VerifiersAndTrees() {
  std::vector<Combination> all;
  for (const std::string& verifier : LosslessVerifiers()) {
    for (const char* tree : {"chain", "eagle2:total_token=8,depth=2,top_k=3"}) {
      all.push_back({"noisy", tree, verifier});
    }
  }
  return all;
}
INSTANTIATE_TEST_SUITE_P(Verifiers, EngineLaw, ::testing::ValuesIn(VerifiersAndTrees()),
                         [](const auto& info) {
                           return info.param.verifier + "_" +
                                  info.param.tree.substr(0, info.param.tree.find(':'));
                         });

}  // namespace
}  // namespace foretoken
