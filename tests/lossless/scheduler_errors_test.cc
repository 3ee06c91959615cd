// How the scheduler behaves when memory runs out, a drafter fails or a text cannot go on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "scheduler_case.h"
#include "verify/filter_testing.h"

namespace foretoken {
namespace {

class SchedulerErrors : public SchedulerCase {};

// Two texts together outgrow the memory: the newer one is set aside and resumed, and its text is
// unchanged.
TEST_F(SchedulerErrors, WhatFindsNoMemoryIsResumed) {
  for (const bool sampled : {false, true}) {
    Rig rig(target_, "pld", kContext, {.max_nodes = 4, .max_depth = 3});
    SchedulerOptions options = Options();
    options.memory = PageBytes() * 3;
    const auto scheduler = New(rig.generator(), options);
    Request first = Ask(1, 40, 60), second = Ask(2, 40, 60);
    if (sampled) first.sampling = second.sampling = VariedSampling(4);
    AnswerReader older = Submit(*scheduler, first), newer = Submit(*scheduler, second);
    RunAll(*scheduler);
    ExpectAlone(first, older);
    ExpectAlone(second, newer);
    EXPECT_GT(scheduler->Snapshot().set_aside, 0);
  }
}

TEST_F(SchedulerErrors, WhatDoesNotFitAloneFailsAlone) {
  Rig rig(target_, "none", kContext, {.max_nodes = 1, .max_depth = 0});
  SchedulerOptions options = Options();
  options.memory = PageBytes();
  const auto scheduler = New(rig.generator(), options);
  const Request large = Ask(1, 40, 60), small = Ask(2, 20, 10);
  AnswerReader failed = Submit(*scheduler, large), whole = Submit(*scheduler, small);
  RunAll(*scheduler);
  failed.Read();
  EXPECT_EQ(failed.answers()[0].finish, FinishReason::kError);
  EXPECT_THAT(failed.answers()[0].error, ::testing::HasSubstr("memory"));
  ExpectBeginningOf(failed.answers()[0], alone_.Of(large, 0, kContext));
  EXPECT_EQ(failed.answers()[0].tokens.size(), 24u);
  ExpectAlone(small, whole);
}

// Drafts nothing. Propose fails when `fails` returns true, Observe when `observe_fails` does.
class FailingDrafter final : public Drafter {
 public:
  explicit FailingDrafter(
      std::function<bool()> fails, std::function<bool()> observe_fails = [] { return false; },
      size_t state_bytes = 0)
      : fails_(std::move(fails)),
        observe_fails_(std::move(observe_fails)),
        state_bytes_(state_bytes) {}
  TapSpec Needs() const override { return {}; }
  std::unique_ptr<DraftState> NewState() const override { return std::make_unique<DraftState>(); }
  size_t StateBytes(const DraftState& /*state*/) const override { return state_bytes_; }
  Status Observe(std::span<const Observation> /*seen*/) override {
    return observe_fails_() ? Status(Error{"out of memory, says the test"}) : Status();
  }
  Status Propose(std::span<const DraftSlot> /*batch*/) override {
    return fails_() ? Status(Error{"out of memory, says the test"}) : Status();
  }
  void Truncate(DraftState& /*state*/, int /*length*/) override {}
  Result<std::unique_ptr<DraftState>> Fork(const DraftState& /*state*/,
                                           int /*length*/) const override {
    return std::make_unique<DraftState>();
  }

 private:
  std::function<bool()> fails_, observe_fails_;
  size_t state_bytes_;
};

bool Never() { return false; }

TEST_F(SchedulerErrors, AnErrorInThePassThatEndsAPromptIsResumed) {
  for (const int answers : {1, 3}) {
    int calls = 0;
    Rig rig(target_, std::make_unique<FailingDrafter>(Never, [&calls] { return ++calls == 1; }),
            {.max_nodes = 4, .max_depth = 3});
    const auto scheduler = New(rig.generator(), Options());
    Request first = Ask(1, 20, 12);
    const Request second = Ask(2, 20, 12);
    first.answers = answers;
    AnswerReader a = Submit(*scheduler, first), b = Submit(*scheduler, second);
    RunAll(*scheduler);
    ExpectAlone(first, a);
    ExpectAlone(second, b);
    EXPECT_EQ(scheduler->Snapshot().set_aside, 2);
  }
}

// One of two answers ends with the pass that fails; the other is resumed.
TEST_F(SchedulerErrors, AnErrorBesideAnAnswerThatEndsIsResumed) {
  int calls = 0;
  Rig rig(target_, std::make_unique<FailingDrafter>(Never, [&calls] { return ++calls == 5; }),
          {.max_nodes = 4, .max_depth = 3});
  SchedulerOptions options = Options();
  options.keeps_texts = false;
  const auto scheduler = New(rig.generator(), options);
  const Request first = Ask(1, 20, 5), second = Ask(2, 20, 12);
  AnswerReader ends = Submit(*scheduler, first), goes_on = Submit(*scheduler, second);
  RunAll(*scheduler);
  ExpectAlone(first, ends);
  ExpectAlone(second, goes_on);
  EXPECT_EQ(scheduler->Snapshot().set_aside, 1);
}

// More memory or fewer neighbours would not help, so no text is set aside and no prefix is evicted.
TEST_F(SchedulerErrors, ATextsOwnErrorEndsItAtOnceAndNothingElse) {
  Rig rig(target_, "none");
  const auto scheduler = New(rig.generator(), Options());
  const Request kept = Ask(7, 40, 5);
  AnswerReader before = Submit(*scheduler, kept);
  RunAll(*scheduler);
  Request fails = Ask(1, 20, 12);
  fails.filter = std::make_shared<const RuleFilter>(
      [](const std::vector<Token>& text, Token /*token*/) { return text.size() < 3; });
  const Request beside = Ask(2, 20, 12);
  AnswerReader failed = Submit(*scheduler, fails), whole = Submit(*scheduler, beside);
  RunAll(*scheduler);
  failed.Read();
  EXPECT_EQ(failed.answers()[0].finish, FinishReason::kError);
  EXPECT_THAT(failed.answers()[0].error, ::testing::HasSubstr("no token"));
  EXPECT_EQ(failed.answers()[0].tokens.size(), 3u);
  ExpectAlone(beside, whole);
  EXPECT_EQ(scheduler->Snapshot().set_aside, 0);
  AnswerReader again = Submit(*scheduler, kept);
  RunAll(*scheduler);
  ExpectAlone(kept, again);
  EXPECT_EQ(again.answers()[0].usage.cached_tokens, 39) << "what was kept stayed";
}

TEST_F(SchedulerErrors, CountsNoRowsThatWereNotComputed) {
  bool fails = false;
  Rig rig(target_, std::make_unique<FailingDrafter>([&fails] { return fails; }),
          {.max_nodes = 4, .max_depth = 3});
  SchedulerOptions options = Options();
  options.rows = 16;
  const auto scheduler = New(rig.generator(), options);
  const Request writes = Ask(1, 10, 30), reads = Ask(2, 130, 4);
  AnswerReader writer = Submit(*scheduler, writes);
  scheduler->RunOnce();
  AnswerReader reader = Submit(*scheduler, reads);
  scheduler->RunOnce();
  const int64_t before = scheduler->Snapshot().prompt_rows;
  EXPECT_GT(before, 10);
  EXPECT_LT(before, 140);
  fails = true;
  scheduler->RunOnce();
  fails = false;
  EXPECT_EQ(scheduler->Snapshot().prompt_rows, before);
  EXPECT_EQ(scheduler->Snapshot().set_aside, 2);
  RunAll(*scheduler);
  ExpectAlone(writes, writer);
  ExpectAlone(reads, reader);
}

// A text whose draft state needs too much memory is set aside once, not in every pass.
TEST_F(SchedulerErrors, ATextThatItsDrafterMakesTooLargeWaits) {
  Rig rig(target_, std::make_unique<FailingDrafter>(Never, Never, 2 * PageBytes()),
          {.max_nodes = 4, .max_depth = 3});
  SchedulerOptions options = Options();
  options.memory = PageBytes() * 4;
  const auto scheduler = New(rig.generator(), options);
  const Request first = Ask(1, 20, 30), second = Ask(2, 20, 30);
  AnswerReader older = Submit(*scheduler, first), newer = Submit(*scheduler, second);
  RunAll(*scheduler);
  ExpectAlone(first, older);
  ExpectAlone(second, newer);
  EXPECT_EQ(scheduler->Snapshot().set_aside, 1);
}

TEST_F(SchedulerErrors, AnErrorThatPassesChangesNoAnswer) {
  int calls = 0;
  Rig rig(target_, std::make_unique<FailingDrafter>([&calls] { return ++calls % 5 == 0; }),
          {.max_nodes = 4, .max_depth = 3});
  const auto scheduler = New(rig.generator(), Options());
  std::vector<Request> requests;
  std::vector<AnswerReader> readers;
  for (uint64_t i = 0; i < 6; ++i) {
    requests.push_back(Ask(i, 30, 12));
    requests.back().sampling = VariedSampling(i);
    readers.push_back(Submit(*scheduler, requests.back()));
  }
  RunAll(*scheduler);
  int whole = 0;
  for (size_t i = 0; i < readers.size(); ++i) {
    readers[i].Read();
    const WholeAnswer& answer = readers[i].answers()[0];
    // A text that runs alone when the error occurs ends: no other text could give up memory for it.
    if (answer.finish == FinishReason::kError) {
      ExpectBeginningOf(answer, alone_.Of(requests[i], 0, kContext));
    } else {
      ExpectAlone(requests[i], readers[i]);
      ++whole;
    }
  }
  EXPECT_GT(whole, 0);
  EXPECT_GT(scheduler->Snapshot().set_aside, 0);
}

TEST_F(SchedulerErrors, AnErrorThatStaysEndsEveryAnswerThatMeetsIt) {
  Rig rig(target_, std::make_unique<FailingDrafter>([] { return true; }),
          {.max_nodes = 4, .max_depth = 3});
  const auto scheduler = New(rig.generator(), Options());
  std::vector<AnswerReader> readers;
  for (uint64_t i = 0; i < 6; ++i) readers.push_back(Submit(*scheduler, Ask(i, 30, 12)));
  RunAll(*scheduler);
  for (AnswerReader& reader : readers) {
    reader.Read();
    EXPECT_EQ(reader.answers()[0].finish, FinishReason::kError);
    EXPECT_THAT(reader.answers()[0].error, ::testing::HasSubstr("says the test"));
  }
}

}  // namespace
}  // namespace foretoken
