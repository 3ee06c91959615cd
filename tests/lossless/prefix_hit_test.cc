// A prefix reused from earlier texts changes neither the tokens nor the cycles of a text.
#include <gtest/gtest.h>

#include <map>

#include "base/rng.h"
#include "base/step_testing.h"
#include "engine/prefix_cache.h"
#include "rig.h"

namespace foretoken {
namespace {

constexpr size_t kPlenty = size_t{1} << 30;

struct Outcome {
  std::vector<Token> tokens;
  std::vector<int> accepted;  // of each cycle
  std::vector<int> nodes;
  friend bool operator==(const Outcome&, const Outcome&) = default;
};

Outcome OutcomeOf(const Session& session) {
  Outcome outcome{session.tokens, {}, {}};
  for (const Cycle& cycle : session.cycles) {
    outcome.accepted.push_back(cycle.n_acc);
    outcome.nodes.push_back(cycle.nodes);
  }
  return outcome;
}

Status Write(Generator& generator, Session& session) {
  Session* batch[] = {&session};
  while (!session.done()) FT_RETURN_IF_ERROR(generator.Step(batch));
  return {};
}

// A session after its prompt, of which the longest prefix in `cache` was reused.
std::unique_ptr<Session> BeginFrom(PrefixCache& cache, Rig& rig, std::span<const Token> prompt,
                                   int max_new, const SamplingParams& sampling = {}) {
  Generator& generator = rig.generator();
  auto session = rig.Start(sampling);
  const auto length = generator.AdoptFrom(cache, *session, prompt, max_new);
  EXPECT_TRUE(length.ok());
  EXPECT_TRUE(generator.Prefill(*session, prompt, max_new).ok());
  EXPECT_EQ(session->reused, *length);
  return session;
}

class PrefixHits : public ::testing::TestWithParam<std::string> {
 protected:
  Target target_{TinyConfig(2)};
};

// A system prompt with several questions, and a conversation that goes on. Prefixes of running
// sessions are shared, too.
TEST_P(PrefixHits, GiveTheTextAndTheCyclesOfASessionThatReadsAll) {
  for (const char* tree : {"chain", "eagle2:total_token=15,depth=3,top_k=3"}) {
    Rig rig(target_, Combination{GetParam(), tree}), fresh(target_, Combination{GetParam(), tree});
    PrefixCache cache(kPlenty);
    std::vector<Token> prompt = RepetitivePrompt(1, 90, 97);
    int hits = 0;
    for (uint64_t i = 0; i < 6; ++i) {
      const std::vector<Token> question = RepetitivePrompt(i + 20, 11, 97);
      if (i % 3 == 1) prompt.resize(80);  // another question after the same beginning
      prompt.insert(prompt.end(), question.begin(), question.end());
      const SamplingParams sampling = i % 2 == 0 ? SamplingParams{} : VariedSampling(i);
      auto session = BeginFrom(cache, rig, prompt, 20, sampling);
      hits += session->reused > 0 ? 1 : 0;
      EXPECT_TRUE(i == 0 || session->reused >= 80);
      if (i == 0) cache.Keep(*rig.generator().Share(*session, session->prompt));
      ASSERT_TRUE(Write(rig.generator(), *session).ok());
      EXPECT_EQ(OutcomeOf(*session), OutcomeOf(*fresh.Decode(prompt, 20, sampling))) << i;
      prompt = session->tokens;
      cache.Keep(rig.generator().Leave(std::move(session)));
    }
    EXPECT_EQ(hits, 5);
  }
}

// If the drafter skipped an earlier text and is to read this one, the reused prefix ends before the
// tokens that it is to read.
TEST_P(PrefixHits, HoldWhatTheDrafterIsToRead) {
  Rig rig(target_, Combination{GetParam(), "auto"}), plain(target_, "none");
  std::vector<DraftCosts*> parts;
  std::vector<DraftCosts> cheap;
  if (rig.drafter() != nullptr) {
    for (const DraftPart& part : rig.drafter()->Parts()) {
      parts.push_back(&rig.generator().options().costs->Drafter(DraftKey(part)));
      parts.back()->Observe(0, /*unread=*/100, /*passes=*/1);
      cheap.push_back(*parts.back());
      for (int i = 0; i < 8; ++i) parts.back()->Observe(0, /*unread=*/100, /*passes=*/1e4);
    }
  }
  const auto forget = [&] {
    for (size_t p = 0; p < parts.size(); ++p) *parts[p] = cheap[p];
  };
  PrefixCache cache(kPlenty);
  const std::vector<Token> prompt = RepetitivePrompt(1, 100, 97);
  auto unread = BeginFrom(cache, rig, prompt, 20);
  EXPECT_EQ(unread->read_from() == Session::kNever, !parts.empty());
  cache.Keep(rig.generator().Leave(std::move(unread)));

  // The drafter skips this text as well, so the whole prefix is reused.
  auto again = BeginFrom(cache, rig, prompt, 20);
  EXPECT_EQ(again->reused, 99);
  ASSERT_TRUE(Write(rig.generator(), *again).ok());
  EXPECT_EQ(again->tokens, plain.Decode(prompt, 20)->tokens);

  forget();
  const int wanted = rig.generator().ReadFrom(*again, 100, 20);
  auto read = BeginFrom(cache, rig, prompt, 20);
  if (!parts.empty()) {
    EXPECT_LT(wanted, 99);
    EXPECT_EQ(read->reused, wanted);
    EXPECT_LE(read->read_from(), wanted);
  }
  ASSERT_TRUE(Write(rig.generator(), *read).ok());
  EXPECT_EQ(read->tokens, plain.Decode(prompt, 20)->tokens);
  cache.Keep(rig.generator().Leave(std::move(read)));
  forget();
  EXPECT_EQ(BeginFrom(cache, rig, prompt, 20)->reused, 99);
}

INSTANTIATE_TEST_SUITE_P(Drafters, PrefixHits, ::testing::ValuesIn(DrafterNames()),
                         [](const auto& info) { return ParameterName(info.param); });

// Random sequences of keeping, reusing and evicting prefixes, by drafters that share the cache.
TEST(PrefixHitsAtRandom, GiveTheSameTexts) {
  Target target(TinyConfig(2));
  std::vector<std::unique_ptr<Rig>> rigs, fresh;
  for (const char* name : {"none", "pld+h", "eagle", "glide", "lookahead"}) {
    rigs.push_back(std::make_unique<Rig>(target, name));
    fresh.push_back(std::make_unique<Rig>(target, name));
  }
  const auto prompt_of = [](uint64_t draw) {
    std::vector<Token> prompt =
        RepetitivePrompt(draw % 2, 20 + static_cast<int>(draw / 2 % 3) * 30, 97);
    prompt.push_back(static_cast<Token>(draw / 6 % 3));
    return prompt;
  };
  std::map<std::pair<size_t, uint64_t>, Outcome> expected;
  int hits = 0;
  for (uint64_t run = 0; run < 200; run += static_cast<uint64_t>(TestStep())) {
    PrefixCache cache(size_t{1} << (14 + run % 12));
    for (uint64_t step = 0; step < 6; ++step) {
      const uint64_t draw = Mix(run * 100 + step);
      const size_t r = draw % rigs.size();
      const uint64_t which = draw / 8 % 18;
      Generator& generator = rigs[r]->generator();
      auto session = BeginFrom(cache, *rigs[r], prompt_of(which), 6);
      hits += session->reused > 0 ? 1 : 0;
      if (draw / 256 % 3 == 0) cache.Keep(*generator.Share(*session, session->prompt));
      if (draw / 1024 % 4 == 0) cache.ShrinkTo(cache.bytes() / 2);
      ASSERT_TRUE(Write(generator, *session).ok());
      Outcome& alone = expected[{r, which}];
      if (alone.tokens.empty()) alone = OutcomeOf(*fresh[r]->Decode(prompt_of(which), 6));
      ASSERT_EQ(OutcomeOf(*session), alone) << run << " " << step;
      if (draw / 4096 % 4 != 0) cache.Keep(generator.Leave(std::move(session)));
    }
  }
  EXPECT_GT(hits, 10);
}

}  // namespace
}  // namespace foretoken
