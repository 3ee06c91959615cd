// Predicted answers: with a right prediction the answer is written in few passes, a wrong one costs
// little, and none changes any text.
#include <gtest/gtest.h>

#include <algorithm>

#include "engine/prefix_cache.h"
#include "rig.h"
#include "scheduler_case.h"

namespace foretoken {
namespace {

constexpr int kAnswer = 60;
constexpr TreeLimits kLimits{.max_nodes = 16, .max_depth = 15};

using Words = std::vector<Token>;

std::unique_ptr<Session> Begin(Rig& rig, const Words& prompt, const Prediction& prediction,
                               const SamplingParams& sampling = {}, int max_new = kAnswer) {
  auto session = rig.generator().Start(
      {.sampling = sampling, .capacity = 256, .cache_type = DType::kF32, .prediction = prediction});
  EXPECT_TRUE(rig.generator().Prefill(*session, prompt, max_new).ok());
  return session;
}

void Write(Rig& rig, Session& session) {
  Session* batch[] = {&session};
  while (!session.done()) Step(rig.generator(), batch);
}

std::unique_ptr<Session> Decode(Rig& rig, const Words& prompt, const Words& predicted,
                                const SamplingParams& sampling = {}) {
  auto session = Begin(rig, prompt, Prediction(std::make_shared<const Words>(predicted)), sampling);
  Write(rig, *session);
  return session;
}

double Tau(const Session& session) {
  return static_cast<double>(session.written().size() - 1) /
         static_cast<double>(session.cycles.size());
}

int Predicted(const Session& session) {
  int nodes = 0;
  for (const Cycle& cycle : session.cycles) nodes += cycle.predicted;
  return nodes;
}

int CameTrue(const Session& session) {
  return static_cast<int>(
      std::ranges::count_if(session.predicted, [](Pos position) { return position != kNoPos; }));
}

Words AnswerOf(const Session& session) {
  return {session.written().begin(), session.written().end()};
}

class Predictions : public ::testing::TestWithParam<Combination> {
 protected:
  Predictions() : rig_(target_, GetParam(), 256, kLimits), plain_(target_, "none") {}

  static Words Prompt(uint64_t i) { return RepetitivePrompt(i, 30 + static_cast<int>(i), 97); }
  static SamplingParams Sampling(uint64_t i) {
    return i % 2 == 0 ? SamplingParams{} : VariedSampling(i);
  }

  Target target_{TinyConfig(2)};
  Rig rig_, plain_;
};

TEST_P(Predictions, OfTheAnswerAreWrittenInFewPasses) {
  double with = 0, without = 0;
  for (uint64_t i = 0; i < 8; ++i) {
    const auto expected = plain_.Decode(Prompt(i), kAnswer, Sampling(i));
    const auto session = Decode(rig_, Prompt(i), AnswerOf(*expected), Sampling(i));
    ASSERT_EQ(session->tokens, expected->tokens);
    EXPECT_GE(Tau(*session), 6);
    // The last token of each cycle is the bonus, which is not copied.
    EXPECT_GE(CameTrue(*session), kAnswer * 3 / 4);
    with += Tau(*session);
    without += Tau(*rig_.Decode(Prompt(i), kAnswer, Sampling(i)));
    for (size_t w = 0; w < session->predicted.size(); ++w) {
      const Pos position = session->predicted[w];
      EXPECT_TRUE(position == kNoPos || position == static_cast<Pos>(w));
    }
  }
  EXPECT_GT(with, 2 * without);
}

// Predictions are the answer with every tenth token replaced, doubled or left out.
TEST_P(Predictions, ThatDifferHereAndThereHelp) {
  double with = 0, without = 0;
  for (uint64_t i = 0; i < 8; ++i) {
    const auto expected = plain_.Decode(Prompt(i), kAnswer, Sampling(i));
    Words predicted;
    for (size_t w = 0; w < expected->written().size(); ++w) {
      const Token token = expected->written()[w];
      if (w % 10 != 5) {
        predicted.push_back(token);
      } else if (w % 30 == 5) {
        predicted.push_back((token + 1) % 97);
      } else if (w % 30 == 15) {
        predicted.insert(predicted.end(), {token, token});
      }
    }
    const auto session = Decode(rig_, Prompt(i), predicted, Sampling(i));
    ASSERT_EQ(session->tokens, expected->tokens);
    with += Tau(*session);
    without += Tau(*rig_.Decode(Prompt(i), kAnswer, Sampling(i)));
  }
  EXPECT_GT(with, 1.5 * without);
}

// Nothing is drafted from a prediction that has no token of the answer.
TEST_P(Predictions, OfOtherTextsAreGivenUp) {
  for (uint64_t i = 0; i < 4; ++i) {
    const auto expected = plain_.Decode(Prompt(i), kAnswer, Sampling(i));
    Words rubbish;
    for (Token token = 0; token < 97; ++token) {
      if (std::ranges::count(expected->written(), token) == 0) rubbish.push_back(token);
    }
    const auto session = Decode(rig_, Prompt(i), rubbish, Sampling(i));
    ASSERT_EQ(session->tokens, expected->tokens);
    EXPECT_EQ(CameTrue(*session), 0);
    // The prompt's pass has written a token that was not predicted.
    EXPECT_EQ(Predicted(*session), 0);
  }
}

std::vector<Combination> CopyingCombinations() {
  std::vector<Combination> all;
  for (const char* name : {"pld", "llma", "rest", "pld+h", "pld+a", "auto"}) {
    all.push_back({name, "chain"});
  }
  all.push_back({"auto", "auto"});
  all.push_back({"pld", "auto"});
  return all;
}
INSTANTIATE_TEST_SUITE_P(Drafters, Predictions, ::testing::ValuesIn(CopyingCombinations()),
                         [](const auto& info) { return ParameterName(info.param); });

// A session's tokens, and the counts of nodes of its drafts, cycle by cycle.
struct Drafts {
  Words tokens;
  std::vector<int> nodes, predicted, accepted;
  friend bool operator==(const Drafts&, const Drafts&) = default;
};

Drafts DraftsOf(const Session& session) {
  Drafts drafts{session.tokens, {}, {}, {}};
  for (const Cycle& cycle : session.cycles) {
    drafts.nodes.push_back(cycle.nodes);
    drafts.predicted.push_back(cycle.predicted);
    drafts.accepted.push_back(cycle.n_acc);
  }
  return drafts;
}

// A prediction belongs to its request: forks, and texts that reuse the prefix, draft without it.
TEST(PredictionsOfOthers, AreNotInWhatIsShared) {
  Target target(TinyConfig(2));
  for (const char* name : {"pld", "pld+h", "auto"}) {
    Rig rig(target, name), fresh(target, name);
    const Words prompt = RepetitivePrompt(3, 50, 97);
    const Words answer = AnswerOf(*fresh.Decode(prompt, kAnswer));
    const auto first = Decode(rig, prompt, answer);
    EXPECT_GT(CameTrue(*first), 0);

    auto fork = *rig.generator().Fork(*first, {.capacity = 256, .cache_type = DType::kF32}, 49);
    ASSERT_TRUE(rig.generator().Prefill(*fork, prompt, kAnswer).ok());
    Write(rig, *fork);
    EXPECT_EQ(DraftsOf(*fork), DraftsOf(*fresh.Decode(prompt, kAnswer)));

    PrefixCache cache(size_t{1} << 30);
    cache.Keep(*rig.generator().Share(*first, 50));
    const Words other(answer.begin() + 20, answer.end());
    for (const Words& predicted : {Words{}, other, answer}) {
      const Prediction prediction(std::make_shared<const Words>(predicted));
      auto session = rig.generator().Start(
          {.capacity = 256, .cache_type = DType::kF32, .prediction = prediction});
      ASSERT_TRUE(rig.generator().AdoptFrom(cache, *session, prompt, kAnswer).ok());
      ASSERT_TRUE(rig.generator().Prefill(*session, prompt, kAnswer).ok());
      EXPECT_GT(session->reused, 40);
      Write(rig, *session);
      EXPECT_EQ(DraftsOf(*session), DraftsOf(*Decode(fresh, prompt, predicted)));
    }
  }
}

// A text that is set aside after any cycle and read again follows its prediction as if it had not
// been set aside.
TEST(PredictionsOfOthers, AreFollowedInTextsThatAreReadAgain) {
  Target target(TinyConfig(2));
  for (const char* name : {"pld", "pld+h"}) {
    Rig rig(target, name);
    const Words prompt = RepetitivePrompt(3, 50, 97);
    Words predicted = AnswerOf(*rig.Decode(prompt, kAnswer));
    for (size_t w = 7; w < predicted.size(); w += 9) predicted[w] = (predicted[w] + 1) % 97;
    const auto shared = std::make_shared<const Words>(predicted);
    const auto session = Begin(rig, prompt, Prediction(shared));
    Session* batch[] = {session.get()};
    while (!session->done()) {
      Words text = session->tokens;
      text.pop_back();
      const int left = 50 + kAnswer - static_cast<int>(text.size());
      auto resumed = Begin(rig, text, Prediction(shared, 50), {}, left);
      ASSERT_EQ(resumed->tokens, session->tokens);
      Session* again[] = {resumed.get()};
      const CandidateTree expected = (*rig.generator().Draft(batch))[0];
      const CandidateTree tree = (*rig.generator().Draft(again))[0];
      ASSERT_EQ(Print(tree), Print(expected));
      for (Node n = 1; n < tree.size(); ++n) ASSERT_EQ(tree.predicted(n), expected.predicted(n));
      Step(rig.generator(), batch);
    }
    EXPECT_GT(CameTrue(*session), 20);
  }
}

class ScheduledPredictions : public SchedulerCase {};

// Of 34 tokens, 30 are copied: the prompt's pass writes the first, and each of three cycles ends
// with a bonus.
TEST_F(ScheduledPredictions, AreCountedAndNamed) {
  Request request = Ask(5, 30, 34);
  request.prediction = alone_.Of(request, 0, kContext).tokens;
  request.prediction.push_back(1);
  request.wants_sources = true;
  Rig rig(target_, "pld", 256, kLimits);
  const auto scheduler = New(rig.generator(), Options());
  AnswerReader reader = Submit(*scheduler, request);
  RunAll(*scheduler);
  ExpectAlone(request, reader);
  const WholeAnswer& whole = reader.answers()[0];
  ExpectTrueCopies(request, whole);
  EXPECT_EQ(whole.usage.accepted_prediction_tokens, 30);
  EXPECT_EQ(whole.usage.rejected_prediction_tokens, 0);
  const std::vector<CopiedRun> expected{{1, 10, 1, true}, {12, 10, 12, true}, {23, 10, 23, true}};
  EXPECT_EQ(whole.copies, expected);
}

// Predicted tokens that were drafted and did not come true count as rejected.
TEST_F(ScheduledPredictions, CountWhatDidNotComeTrue) {
  Request request = Ask(5, 30, 34);
  const Words answer = alone_.Of(request, 0, kContext).tokens;
  request.prediction = answer;
  for (size_t i = 5; i < answer.size(); ++i) {
    while (std::ranges::count(answer, request.prediction[i]) > 0) {
      request.prediction[i] = (request.prediction[i] + 1) % 97;
    }
  }
  Rig rig(target_, "pld", 256, kLimits);
  const auto scheduler = New(rig.generator(), Options());
  AnswerReader reader = Submit(*scheduler, request);
  RunAll(*scheduler);
  ExpectAlone(request, reader);
  const WholeAnswer& whole = reader.answers()[0];
  EXPECT_GE(whole.usage.accepted_prediction_tokens, 4);
  EXPECT_GE(whole.usage.rejected_prediction_tokens, 6);
  EXPECT_LE(whole.usage.accepted_prediction_tokens + whole.usage.rejected_prediction_tokens,
            whole.usage.drafted_tokens);
  EXPECT_TRUE(whole.copies.empty()) << "nobody asked for them";
}

// Each answer of a request follows the prediction by itself, also after it was set aside.
TEST_F(ScheduledPredictions, BelongToEachAnswer) {
  Request request = Ask(4, 20, 70);
  request.sampling = {.temperature = 1, .seed = 5};
  request.answers = 3;
  request.wants_sources = true;
  request.prediction = alone_.Of(request, 1, kContext).tokens;
  Rig rig(target_, "pld", 256, kLimits);
  for (const size_t pages : {size_t{1000}, size_t{4}}) {
    SchedulerOptions options = Options();
    options.memory = pages * PageBytes();
    const auto scheduler = New(rig.generator(), options);
    AnswerReader reader = Submit(*scheduler, request);
    RunAll(*scheduler);
    ExpectAlone(request, reader);
    EXPECT_EQ(scheduler->Snapshot().set_aside > 0, pages < 1000);
    for (const WholeAnswer& whole : reader.answers()) ExpectTrueCopies(request, whole);
    EXPECT_GT(reader.answers()[1].usage.accepted_prediction_tokens, 50);
  }
}

}  // namespace
}  // namespace foretoken
