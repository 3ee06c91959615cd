// Drafts with a reduced vocabulary propose only its tokens, and the text stays the target's.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <set>

#include "draft/eagle/eagle_testing.h"
#include "draft/rank_tokens.h"
#include "io/token_ranking.h"
#include "trained_drafts.h"

namespace foretoken {
namespace {

constexpr int kScored = 40, kNew = 24;

// A ranking by how often the target writes each token; its first tokens make the vocabulary.
TokenRanking RankingFor(Target& target) {
  Rig plain(target, "none");
  std::vector<std::vector<Token>> texts;
  for (uint64_t i = 0; i < 12; ++i) {
    const std::vector<Token> prompt = RepetitivePrompt(i, 30, 97);
    const auto session = plain.Decode(prompt, kNew);
    texts.emplace_back(session->written().begin(), session->written().end());
  }
  return RankTokens(texts, std::vector<int64_t>(97), 97, /*step=*/1);
}

// A drafter and the type of its LM head: the file's own ("source") or 4 bits.
struct Reduced {
  std::string drafter, head;
};

class DraftVocabularies : public ::testing::TestWithParam<Reduced> {
 protected:
  DraftVocabularies() {
    ranking_ = RankingFor(target_);
    std::ofstream(path_) << RankingText({ranking_, 97, 0});
    known_.insert(ranking_.tokens.begin(), ranking_.tokens.begin() + kScored);
  }

  Rig NewRig(const char* tree, const char* verifier) {
    Json options = target_.OptionsFor(GetParam().drafter);
    options["ranks"] = path_;
    options["vocabulary"] = kScored;
    options["head"] = GetParam().head;
    const DraftContext context{*target_.model, 256, options, "", target_.tokenizer.get()};
    return Rig(target_, *NewDrafter(GetParam().drafter, context), {.max_nodes = 24, .max_depth = 9},
               tree, verifier);
  }

  Target target_{TinyConfig(2)};
  TemporaryDirectory folder_;
  std::string path_ = folder_ / "ranks.json";
  TokenRanking ranking_;
  std::set<Token> known_;
};

TEST_P(DraftVocabularies, TextStaysTheTargets) {
  Rig plain(target_, "none");
  int accepted = 0;
  for (const char* tree : {"chain:gamma=4", "eagle2"}) {
    Rig rig = NewRig(tree, "exact");
    for (uint64_t i = 0; i < 12; ++i) {
      const SamplingParams sampling = i % 2 == 0 ? SamplingParams{} : VariedSampling(i);
      const std::vector<Token> prompt = RepetitivePrompt(i, 10 + static_cast<int>(i) * 7, 97);
      const auto expected = plain.Decode(prompt, kNew, sampling);
      const auto actual = rig.Decode(prompt, kNew, sampling);
      ASSERT_EQ(actual->tokens, expected->tokens) << tree << ", prompt " << i;
      for (const Cycle& c : actual->cycles) accepted += c.n_acc;
    }
  }
  EXPECT_GT(accepted, 4) << "drafts that are never accepted prove nothing";
}

TEST_P(DraftVocabularies, OnlyScoredTokensAreGuessed) {
  // `tree` weighs draws, for which tokens that are not scored have probability 0.
  for (const char* verifier : {"exact", "tree"}) {
    Rig rig = NewRig("eagle2", verifier);
    const auto session = rig.Start({.temperature = 1, .repetition_penalty = 1.2f, .seed = 4});
    ASSERT_TRUE(rig.generator().Prefill(*session, RepetitivePrompt(2, 30, 97), kNew).ok());
    Session* batch[] = {session.get()};
    int guesses = 0;
    for (; !session->done(); Step(rig.generator(), batch)) {
      const CandidateTree tree = (*rig.generator().Draft(batch))[0];
      for (Node n = 1; n < tree.size(); ++n, ++guesses) {
        ASSERT_TRUE(known_.contains(tree.token(n))) << verifier << ", token " << tree.token(n);
      }
    }
    EXPECT_GT(guesses, 20) << verifier;
  }
}

std::vector<Reduced> AllReduced() {
  std::vector<Reduced> all;
  for (const DrafterEntry& e : AllDrafters()) {
    if (e.needs != "draft" && e.needs != "draft_model") continue;
    for (const char* head : {"source", "q4_0"}) all.push_back({std::string(e.name), head});
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Trained, DraftVocabularies, ::testing::ValuesIn(AllReduced()),
                         [](const auto& info) {
                           return ParameterName(info.param.drafter) + "_" + info.param.head;
                         });

// Among the scored tokens, guesses are the top-k by the logits of the whole head.
TEST(DraftVocabulary, GuessesAreTheLikeliestOfTheScoredTokens) {
  Target target{TinyConfig(2)};
  const TokenRanking ranking = RankingFor(target);
  const TemporaryDirectory folder;
  const std::string path = folder / "ranks.json";
  std::ofstream(path) << RankingText({ranking, 97, 0});
  Json options = target.OptionsFor("eagle");
  const auto draft = options["draft"].get<std::string>();
  options.update({{"ranks", path}, {"vocabulary", kScored}, {"head", "source"}});
  const std::set<Token> known(ranking.tokens.begin(), ranking.tokens.begin() + kScored);
  const auto logits_after = [&](std::span<const Token> tokens, std::span<const Token> path_down) {
    const std::vector<float> features = StatesOf(target, tokens.first(tokens.size() - 1), 4);
    const auto trace = TraceEagle(draft, *target.model, tokens, features, path_down);
    EXPECT_TRUE(trace.ok());
    std::vector<float> logits(trace->logits.end() - 97, trace->logits.end());
    for (Token token = 0; token < 97; ++token) {
      if (!known.contains(token)) logits[static_cast<size_t>(token)] = -HUGE_VALF;
    }
    return logits;
  };
  Rig rig(target, *NewDrafter("eagle", {*target.model, 256, options, "", target.tokenizer.get()}),
          {.max_nodes = 20, .max_depth = 6}, "eagle2");
  EXPECT_GT(ExpectDraftsFromScratch(rig, logits_after), 20);
}

}  // namespace
}  // namespace foretoken
