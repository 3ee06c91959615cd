// Hydra's drafts, in every cycle of the engine, equal states computed from scratch; its heads equal
// the formula of B-10 in double precision.
#include <gtest/gtest.h>

#include <cmath>

#include "draft/hydra/hydra_testing.h"
#include "draft/plain_layer_testing.h"
#include "trained_drafts.h"

namespace foretoken {
namespace {

constexpr size_t kHidden = 64, kVocab = 97;

void AddTo(std::vector<double>& x, const std::vector<float>& bias) {
  for (size_t i = 0; i < x.size(); ++i) x[i] += bias[i];
}

void AddSilu(std::vector<double>& x, const std::vector<double>& gate) {
  for (size_t i = 0; i < x.size(); ++i) x[i] += gate[i] / (1 + std::exp(-gate[i]));
}

class HydraDrafts : public ::testing::Test {
 protected:
  TestTarget Made() { return MadeFor(target_, *weights_); }
  std::string DraftPath() { return target_.OptionsFor("hydra")["draft"].get<std::string>(); }
  std::vector<float> FeaturesOf(std::span<const Token> tokens) {
    return StatesOf(target_, tokens, target_.model->config().layers);
  }

  Target target_{TinyConfig(2)};
  std::unique_ptr<WeightSource> weights_ =
      NewRandomWeights(DType::kF32, target_.seed, *target_.backend);
};

TEST_F(HydraDrafts, HeadsAreThoseOfThePaper) {
  const TemporaryDirectory folder;
  DraftBuilder draft = RandomHydra(Made(), 3, 4, 5);
  draft.Write(HydraInfo(Made(), 3, 4), folder / "d.gguf");
  const std::vector<Token> path = {11, 60, 3};
  const auto trace =
      TraceHydra(folder / "d.gguf", *target_.model, FeaturesOf(RepetitivePrompt(1, 9, 97)), path);
  ASSERT_TRUE(trace.ok()) << trace.error().message;
  ASSERT_EQ(trace->logits.size(), 3u);
  const auto table =
      MatrixValues(*weights_, *target_.backend, "token_embd.weight", kVocab, kHidden);
  const auto output = MatrixValues(*weights_, *target_.backend, "output.weight", kVocab, kHidden);
  std::vector<double> input(trace->state.begin(), trace->state.end());
  for (size_t k = 0; k < path.size(); ++k) {
    const auto row = table.begin() + static_cast<std::ptrdiff_t>(path[k] * kHidden);
    input.insert(input.end(), row, row + kHidden);
    const std::string prefix = "head." + std::to_string(k) + ".";
    std::vector<double> x = Times(draft.values(prefix + "skip.weight"), input);
    AddTo(x, draft.values(prefix + "skip.bias"));
    std::vector<double> gate = Times(draft.values(prefix + "fc.weight"), input);
    AddTo(gate, draft.values(prefix + "fc.bias"));
    AddSilu(x, gate);
    for (int j = 1; j < 4; ++j) {
      const std::string block = prefix + "res." + std::to_string(j);
      gate = Times(draft.values(block + ".weight"), x);
      AddTo(gate, draft.values(block + ".bias"));
      AddSilu(x, gate);
    }
    const std::vector<double> logits = Times(output, x);
    for (size_t v = 0; v < kVocab; ++v) ASSERT_NEAR(trace->logits[k][v], logits[v], 1e-4);
  }
}

// Rows that a draft keeps equal those of a fresh draft.
TEST_F(HydraDrafts, AreStatesFromScratch) {
  int checked = 0;
  Rig rig(target_, Combination{"hydra", "eagle2"}, 256, {.max_nodes = 24, .max_depth = 15});
  const auto session = rig.Start({});
  ASSERT_TRUE(rig.generator().Prefill(*session, RepetitivePrompt(2, 30, 97), 24).ok());
  Session* batch[] = {session.get()};
  for (; !session->done(); Step(rig.generator(), batch)) {
    const CandidateTree tree = (*rig.generator().Draft(batch))[0];
    const std::span<const Token> tokens = session->tokens;
    const std::vector<float> features = FeaturesOf(tokens.first(tokens.size() - 1));
    for (Node n = 1; n < tree.size(); ++n) {
      std::vector<Token> path;
      for (Node up = tree.parent(n); up != kNoNode; up = tree.parent(up)) {
        path.insert(path.begin(), tree.token(up));
      }
      const auto trace = TraceHydra(DraftPath(), *target_.model, features, path);
      ASSERT_TRUE(trace.ok()) << trace.error().message;
      ASSERT_EQ(trace->logits.size(), path.size()) << "deeper than there are heads";
      const std::vector<float>& row = trace->logits.back();
      double sum = 0;
      for (const float x : row) sum += std::exp(x);
      ASSERT_NEAR(tree.log_q(n), row[static_cast<size_t>(tree.token(n))] - std::log(sum), 1e-5);
      ++checked;
    }
  }
  EXPECT_GT(checked, 100);
}

}  // namespace
}  // namespace foretoken
