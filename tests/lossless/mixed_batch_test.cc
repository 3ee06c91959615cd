// Texts that share passes at random: prompts beside answers, with all drafters, row budgets from
// one up, and some texts abandoned on the way. Each text equals the one decoded alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "base/step_testing.h"
#include "dice.h"
#include "random_prediction.h"
#include "rig.h"

namespace foretoken {
namespace {

constexpr int kCapacity = 160;

// One generator with every drafter, each with one of three trees.
class MixedBatch : public ::testing::TestWithParam<std::string> {
 protected:
  MixedBatch() : target_(TinyConfig(2)), plain_(target_, Combination{.verifier = GetParam()}) {
    const char* trees[] = {"chain", "eagle2:total_token=12,depth=3,top_k=3", "auto"};
    for (const char* tree : trees) trees_.push_back(*NewTreePolicy(tree));
    verifier_ = *NewVerifier(GetParam(), {*target_.backend, Json::object()});
    generator_ = std::make_unique<Generator>(*target_.model, nullptr, *verifier_, Options(0));
    for (const std::string& name : DrafterNames()) {
      if (name == "none") continue;
      drafters_.push_back(*NewDrafter(name, {*target_.model, kCapacity, target_.OptionsFor(name),
                                             "", target_.tokenizer.get()}));
      generator_->AddDrafter(drafters_.back().get(), Options(drafters_.size()));
    }
  }

  GeneratorOptions Options(size_t number) {
    GeneratorOptions options;
    options.limits = {.max_nodes = 16, .max_depth = 15};
    options.policy = trees_[number % trees_.size()].get();
    options.costs = &costs_;
    options.refresh_costs = false;
    return options;
  }

  struct Text {
    std::unique_ptr<Session> session;
    std::vector<Token> expected;
    std::string name;
  };

  Text Begin(Dice& dice, uint64_t number) {
    const std::vector<Token> prompt = RepetitivePrompt(number, 1 + dice.Roll(90), 97);
    const int max_new = 1 + dice.Roll(30);
    const int drafter = dice.Roll(static_cast<int>(drafters_.size()) + 1);
    const SamplingParams sampling = VariedSampling(number);
    SessionOptions options{.sampling = sampling, .capacity = kCapacity};
    options.cache_type = DType::kF32;
    options.drafter = drafter;
    const std::vector<Token> expected = plain_.Decode(prompt, max_new, sampling, kCapacity)->tokens;
    if (dice.Chance(50)) {
      const auto answer = std::span(expected).subspan(prompt.size());
      options.prediction = Prediction(
          std::make_shared<const std::vector<Token>>(RandomPrediction(dice, answer, 97)));
    }
    Text text{generator_->Start(options), expected,
              "text " + std::to_string(number) + ", drafter " + std::to_string(drafter)};
    EXPECT_TRUE(generator_->Begin(*text.session, prompt, max_new).ok());
    return text;
  }

  Target target_;
  Rig plain_;
  CostModel costs_{{{1, 1e-4}, {16, 2e-4}, {64, 6e-4}}, {}};
  std::vector<std::unique_ptr<TreePolicy>> trees_;
  std::unique_ptr<Verifier> verifier_;
  std::vector<std::unique_ptr<Drafter>> drafters_;
  std::unique_ptr<Generator> generator_;
};

TEST_P(MixedBatch, EveryTextIsWhatItIsAlone) {
  int finished = 0, mixed = 0, given_up = 0, predicted = 0;
  for (uint64_t run = 0; run < 12; run += TestStep()) {
    Dice dice(run);
    std::vector<Text> texts;
    uint64_t begun = 0;
    const uint64_t all = 14;
    for (int pass = 0; begun < all || !texts.empty(); ++pass) {
      ASSERT_LT(pass, 5000);
      while (begun < all && (texts.empty() || (texts.size() < 8 && dice.Roll(3) == 0))) {
        texts.push_back(Begin(dice, 1000 * run + begun++));
      }
      std::vector<Session*> batch;
      for (const Text& text : texts) batch.push_back(text.session.get());
      for (size_t s = batch.size(); s > 1; --s) {
        std::swap(batch[s - 1], batch[static_cast<size_t>(dice.Roll(static_cast<int>(s)))]);
      }
      const auto reads = [](const Session* s) { return s->reading(); };
      const bool all_read = std::ranges::all_of(batch, reads);
      mixed += !all_read && std::ranges::any_of(batch, reads) ? 1 : 0;
      const int budgets[] = {0, 1, 3, 9, 20, 64};
      const Status status = generator_->Step(batch, budgets[dice.Roll(6)]);
      ASSERT_TRUE(status.ok()) << status.error().message;
      for (const Text& text : texts) {
        const Session& s = *text.session;
        ASSERT_TRUE(s.status.ok()) << s.status.error().message;
        ASSERT_LE(s.tokens.size(), text.expected.size()) << text.name;
        ASSERT_TRUE(std::ranges::equal(s.tokens, std::span(text.expected).first(s.tokens.size())))
            << text.name << ", run " << run << ", pass " << pass;
        ASSERT_TRUE(!s.done() || s.tokens.size() == text.expected.size()) << text.name;
      }
      for (const Text& text : texts) {
        if (!text.session->done()) continue;
        predicted += static_cast<int>(std::ranges::count_if(
            text.session->predicted, [](Pos position) { return position != kNoPos; }));
      }
      finished += static_cast<int>(
          std::erase_if(texts, [](const Text& text) { return text.session->done(); }));
      if (!texts.empty() && dice.Roll(40) == 0) {
        texts.erase(texts.begin() + dice.Roll(static_cast<int>(texts.size())));
        ++given_up;
      }
    }
  }
  EXPECT_GT(finished, 100 / TestStep());
  EXPECT_GT(mixed, 100 / TestStep());
  EXPECT_GT(given_up, 0);
  EXPECT_GT(predicted, 50 / TestStep());
}

std::vector<std::string> SameTextVerifiers() {
  std::vector<std::string> names;
  for (const VerifierEntry& e : AllVerifiers()) {
    if (e.guarantee == Guarantee::kSameText) names.emplace_back(e.name);
  }
  return names;
}
INSTANTIATE_TEST_SUITE_P(Verifiers, MixedBatch, ::testing::ValuesIn(SameTextVerifiers()),
                         [](const auto& info) { return ParameterName(info.param); });

}  // namespace
}  // namespace foretoken
