// How candidates are ranked above temperature 0: with the noise of the target's own draw under
// verifiers that use that draw, by probability alone under the others.
#include <gtest/gtest.h>

#include "rig.h"
#include "verify/forced_verifier.h"

namespace foretoken {
namespace {

// The drafters with a network of their own, and two of them joined.
std::vector<std::string> NetworkDrafters() {
  std::vector<std::string> names;
  for (const DrafterEntry& e : AllDrafters()) {
    if (e.needs == "draft" || e.needs == "draft_model") names.emplace_back(e.name);
  }
  names.emplace_back("medusa,hass");
  return names;
}

class SharedNoise : public ::testing::TestWithParam<std::string> {
 protected:
  SharedNoise() : tree_(*NewTreePolicy("vct:width=3,depth=2")) {
    drafter_ = *NewDrafter(GetParam(), {*target_.model, 128, target_.OptionsFor(GetParam()), "",
                                        target_.tokenizer.get()});
  }

  // A session after its prompt, and its first draft.
  struct Drafted {
    std::unique_ptr<Session> session;
    std::string tree;
  };
  Drafted Draft(Verifier& verifier, std::span<const Token> prompt, const SamplingParams& sampling,
                DraftNoise noise = DraftNoise::kAuto) {
    Generator generator(
        *target_.model, drafter_.get(), verifier,
        {.limits = {.max_nodes = 32, .max_depth = 2}, .policy = tree_.get(), .noise = noise});
    Drafted drafted{generator.Start({.sampling = sampling, .capacity = 128}), ""};
    EXPECT_TRUE(generator.Prefill(*drafted.session, prompt, 40).ok());
    Session* batch[] = {drafted.session.get()};
    const CandidateTree tree = (*generator.Draft(batch))[0];
    drafted.tree = Print(tree);
    if (tree.draws(0) != nullptr) drafted.tree += "drawn";
    return drafted;
  }

  // The draft for the text of `session` with its sampling, but for the temperature and noise given.
  std::string Ranked(const Session& session, float temperature, DraftNoise noise) {
    ForcedVerifier same_text(session.tokens);
    SamplingParams sampling = session.sampling();
    sampling.temperature = temperature;
    return Draft(same_text, std::span(session.tokens).first(session.prompt), sampling, noise).tree;
  }

  Target target_{TinyConfig(2)};
  std::unique_ptr<TreePolicy> tree_;
  std::unique_ptr<Drafter> drafter_;
};

TEST_P(SharedNoise, FollowsTheVerifierUnlessAnOptionOverridesIt) {
  int differ = 0;
  for (const auto& [name, shares] : std::vector<std::pair<const char*, bool>>{
           {"exact", true}, {"nucleus", true}, {"sequential", false}, {"typical", false}}) {
    const auto verifier = *NewVerifier(name, {*target_.backend, Json::object()});
    for (uint64_t i = 0; i < 5; ++i) {  // the last of VariedSampling is greedy
      const std::vector<Token> prompt = RepetitivePrompt(i, 30, 97);
      const Drafted drafted = Draft(*verifier, prompt, VariedSampling(i));
      const float temperature = drafted.session->sampling().temperature;
      const std::string with = Ranked(*drafted.session, temperature, DraftNoise::kShared);
      const std::string without = Ranked(*drafted.session, 0, DraftNoise::kAuto);
      EXPECT_EQ(drafted.tree, shares ? with : without) << name << ", prompt " << i;
      differ += with != without ? 1 : 0;
      // DraftNoise overrides the verifier's choice.
      for (const DraftNoise noise : {DraftNoise::kShared, DraftNoise::kNone}) {
        const Drafted asked = Draft(*verifier, prompt, VariedSampling(i), noise);
        EXPECT_EQ(asked.tree, noise == DraftNoise::kShared ? with : without)
            << name << ", prompt " << i;
      }
    }
  }
  EXPECT_GT(differ, 10) << "the rankings must be told apart";
}

// Under verifiers that weigh draws, the draws are the same with every option, so that the output
// still follows the target's distribution.
TEST_P(SharedNoise, LeavesDrawsUnchanged) {
  for (const char* name : {"chain", "tree"}) {
    const auto verifier = *NewVerifier(name, {*target_.backend, Json::object()});
    const std::vector<Token> prompt = RepetitivePrompt(3, 30, 97);
    const std::string drawn = Draft(*verifier, prompt, VariedSampling(1)).tree;
    EXPECT_TRUE(drawn.ends_with("drawn")) << name;
    for (const DraftNoise noise : {DraftNoise::kShared, DraftNoise::kNone}) {
      EXPECT_EQ(Draft(*verifier, prompt, VariedSampling(1), noise).tree, drawn) << name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Drafters, SharedNoise, ::testing::ValuesIn(NetworkDrafters()),
                         [](const auto& drafter) {
                           return drafter.param.find(',') == std::string::npos
                                      ? ParameterName(drafter.param)
                                      : "joined";
                         });

}  // namespace
}  // namespace foretoken
