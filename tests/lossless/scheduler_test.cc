// Tests of the scheduler, one behaviour per test, mostly without the scheduler's own thread.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "scheduler_case.h"

namespace foretoken {
namespace {

class SchedulerTest : public SchedulerCase {};

TEST_F(SchedulerTest, RefusesWhatCanNeverBeAnswered) {
  Rig rig(target_, "none");
  SchedulerOptions options = Options();
  options.memory = PageBytes() * 2;
  options.queue = 8;
  const auto scheduler = New(rig.generator(), options);
  const auto refused = [&](const std::function<void(Request&)>& change) {
    Request request = Ask(1, 20, 4);
    change(request);
    const Submission submission = scheduler->Submit(request);
    EXPECT_EQ(submission.stream, nullptr);
    EXPECT_EQ(submission.refusal, Refusal::kInvalid);
    return submission.error;
  };
  using ::testing::HasSubstr;
  EXPECT_THAT(refused([](Request& r) { r.prompt.clear(); }), HasSubstr("prompt is empty"));
  EXPECT_THAT(refused([](Request& r) { r.prompt[3] = 97; }), HasSubstr("found 97"));
  EXPECT_THAT(refused([](Request& r) { r.prompt.resize(kContext); }), HasSubstr("context"));
  EXPECT_THAT(refused([](Request& r) { r.prompt.resize(140); }), HasSubstr("memory"));
  EXPECT_THAT(refused([](Request& r) { r.max_new = -1; }), HasSubstr("new tokens"));
  EXPECT_THAT(refused([](Request& r) { r.answers = 9; }), HasSubstr("answers: found 9"));
  EXPECT_THAT(refused([](Request& r) { r.stop_tokens = {-1}; }), HasSubstr("stop tokens"));
  EXPECT_THAT(refused([](Request& r) { r.prediction = {5, 97}; }), HasSubstr("prediction"));
  EXPECT_THAT(refused([](Request& r) { r.stop_strings = {""}; }), HasSubstr("stop string"));
  EXPECT_THAT(refused([](Request& r) { r.stop_strings = {"\xff"}; }), HasSubstr("UTF-8"));
  EXPECT_THAT(refused([](Request& r) { r.drafter = 1; }), HasSubstr("drafter: found 1"));
  EXPECT_THAT(refused([](Request& r) { r.sampling.top_p = 2; }), HasSubstr("top-p"));
  EXPECT_THAT(refused([](Request& r) { r.logprobs = 21; }),
              HasSubstr("log-probabilities: found 21"));
  EXPECT_THAT(refused([](Request& r) { r.logprobs = -2; }), HasSubstr("log-probabilities"));
  EXPECT_EQ(scheduler->Snapshot().refused, 14);
  EXPECT_FALSE(scheduler->RunOnce());
}

TEST_F(SchedulerTest, HasNoMoreDraftersThanItsGenerator) {
  Rig rig(target_, "none");
  SchedulerOptions options = Options();
  options.drafters = 2;
  const auto made = Scheduler::Create(rig.generator(), *target_.model, *tokenizer_, options);
  ASSERT_FALSE(made.ok());
  EXPECT_THAT(made.error().message, ::testing::HasSubstr("drafters: found 2"));
}

TEST_F(SchedulerTest, RefusesMoreThanMayWait) {
  Rig rig(target_, "none");
  SchedulerOptions options = Options();
  options.slots = 1;
  options.queue = 2;
  const auto scheduler = New(rig.generator(), options);
  const Request request = Ask(1, 20, 4);
  AnswerReader first = Submit(*scheduler, request), second = Submit(*scheduler, request);
  EXPECT_EQ(scheduler->Submit(request).refusal, Refusal::kBusy);
  scheduler->RunOnce();  // the first is admitted
  AnswerReader third = Submit(*scheduler, request);
  EXPECT_EQ(scheduler->Submit(request).refusal, Refusal::kBusy);
  RunAll(*scheduler);
  ExpectAlone(request, first);
  ExpectAlone(request, second);
  ExpectAlone(request, third);
}

TEST_F(SchedulerTest, AdmitsInTheOrderOfArrival) {
  Rig rig(target_, "none");
  double now = 0;
  SchedulerOptions options = Options();
  options.slots = 2;
  options.clock = [&now] { return now; };
  const auto scheduler = New(rig.generator(), options);
  std::vector<AnswerReader> readers;
  for (uint64_t i = 0; i < 6; ++i) {
    readers.push_back(Submit(*scheduler, Ask(i, 20, 3 + static_cast<int>(i * 5 % 7))));
  }
  while (scheduler->RunOnce()) ++now;
  double last = 0;
  for (AnswerReader& reader : readers) {
    reader.Read();
    EXPECT_GE(reader.answers()[0].times.admitted, last);
    last = reader.answers()[0].times.admitted;
  }
  EXPECT_GT(last, 0);
}

TEST_F(SchedulerTest, ACancelledAnswerLeavesWithinOneStep) {
  Rig rig(target_, "none");
  SchedulerOptions options = Options();
  options.slots = 1;
  const auto scheduler = New(rig.generator(), options);
  const Request first = Ask(1, 20, 50), second = Ask(2, 20, 5), third = Ask(3, 20, 5);
  AnswerReader cancelled = Submit(*scheduler, first), after = Submit(*scheduler, second);
  AnswerReader waiting = Submit(*scheduler, third);
  for (int pass = 0; pass < 4; ++pass) scheduler->RunOnce();
  scheduler->Cancel(cancelled.stream().id());
  scheduler->Cancel(999);
  waiting.Abandon();
  scheduler->RunOnce();
  cancelled.Read();
  EXPECT_EQ(cancelled.answers()[0].finish, FinishReason::kCancelled);
  EXPECT_TRUE(cancelled.stream().ended());
  ExpectBeginningOf(cancelled.answers()[0], alone_.Of(first, 0, kContext));
  EXPECT_GE(cancelled.answers()[0].tokens.size(), 4u);
  const Counters now = scheduler->Snapshot();
  EXPECT_EQ(now.cancelled, 2);
  EXPECT_EQ(now.running, 1);
  EXPECT_EQ(now.waiting, 0);
  RunAll(*scheduler);
  ExpectAlone(second, after);
}

// An oracle's drafts are accepted beyond the token at which the text stops.
TEST_F(SchedulerTest, NothingAfterAStopStringInsideAnAcceptedRunIsKept) {
  const Request plain = Ask(5, 30, 40);
  Rig none(target_, "none");
  const std::vector<Token> text = none.Decode(plain.prompt, 40, {}, kContext)->tokens;
  Rig oracle(target_, std::make_unique<OracleDrafter>(text), {.max_nodes = 8, .max_depth = 7});
  int inside = 0;
  for (size_t at = plain.prompt.size() + 1; at < text.size(); ++at) {
    Request request = plain;
    request.stop_strings = {tokenizer_->Piece(text[at - 1]) + tokenizer_->Piece(text[at])};
    if (Submission tried = New(oracle.generator(), Options())->Submit(request);
        tried.stream == nullptr) {
      continue;  // not UTF-8
    }
    const auto scheduler = New(oracle.generator(), Options());
    AnswerReader reader = Submit(*scheduler, request);
    RunAll(*scheduler);
    ExpectAlone(request, reader);
    const WholeAnswer& whole = reader.answers()[0];
    EXPECT_EQ(whole.finish, FinishReason::kStop);
    // After the first token, each pass of the oracle writes 8 tokens.
    if ((whole.tokens.size() - 1) % 8 != 0) ++inside;
    EXPECT_EQ(whole.usage.cycles, (std::ssize(whole.tokens) + 6) / 8);
    EXPECT_LE(whole.usage.accepted_tokens, std::ssize(whole.tokens));
    EXPECT_EQ(scheduler->Snapshot().written_tokens, std::ssize(whole.tokens));
    // The prefix cache keeps all but the last token, which has no row yet, and nothing that was
    // accepted after it.
    const size_t kept = plain.prompt.size() + whole.tokens.size() - 1;
    Request next = plain;
    next.max_new = 1;
    next.prompt = text;
    next.prompt.resize(std::min(text.size(), kept + 9));
    AnswerReader following = Submit(*scheduler, next);
    RunAll(*scheduler);
    following.Read();
    EXPECT_EQ(following.answers()[0].usage.cached_tokens, static_cast<int>(kept));
  }
  EXPECT_GT(inside, 10);
}

// The model's end tokens end an answer like stop tokens, unless the request sets ignore_eos.
TEST_F(SchedulerTest, EndsWhereTheModelEndsUnlessItIsToIgnoreThat) {
  Rig rig(target_, "pld");
  const Request plain = Ask(5, 30, 12);
  const std::vector<Token> written = alone_.Of(plain, 0, kContext).tokens;
  SchedulerOptions options = Options();
  options.end_tokens = {written[6]};
  const auto scheduler = New(rig.generator(), options);
  Request ignores = plain;
  ignores.ignore_eos = true;
  AnswerReader whole = Submit(*scheduler, ignores), cut = Submit(*scheduler, plain);
  RunAll(*scheduler);
  ExpectAlone(plain, whole);
  Request stops = plain;
  stops.stop_tokens = options.end_tokens;
  ExpectAlone(stops, cut);
  EXPECT_EQ(cut.answers()[0].finish, FinishReason::kStop);
  EXPECT_LE(cut.answers()[0].tokens.size(), 7u);
}

TEST_F(SchedulerTest, TheContextEndsAnAnswerWithoutALimit) {
  Rig rig(target_, "pld");
  const auto scheduler = New(rig.generator(), Options());
  const Request request = Ask(3, 140, 0);
  AnswerReader reader = Submit(*scheduler, request);
  RunAll(*scheduler);
  ExpectAlone(request, reader);
  EXPECT_EQ(reader.answers()[0].finish, FinishReason::kContext);
  EXPECT_EQ(reader.answers()[0].tokens.size(), 20u);
}

TEST_F(SchedulerTest, AnswersOfOnePromptDifferBySeedAlone) {
  Rig rig(target_, "pld");
  const auto scheduler = New(rig.generator(), Options());
  Request request = Ask(4, 100, 12);
  request.sampling = {.temperature = 1, .seed = 5};
  request.answers = 6;  // more than run at once
  AnswerReader reader = Submit(*scheduler, request);
  RunAll(*scheduler);
  ExpectAlone(request, reader);
  EXPECT_NE(reader.answers()[0].tokens, reader.answers()[1].tokens);
  EXPECT_EQ(scheduler->Snapshot().limited, 6);
}

// The prompt is read once, whether or not texts are kept for other requests.
TEST_F(SchedulerTest, AnswersOfOnePromptReadItOnce) {
  for (const bool scheduler_keeps : {true, false}) {
    for (const bool request_keeps : {true, false}) {
      Rig rig(target_, "pld");
      SchedulerOptions options = Options();
      options.keeps_texts = scheduler_keeps;
      const auto scheduler = New(rig.generator(), options);
      Request request = Ask(4, 50, 12);
      request.sampling = {.temperature = 1, .seed = 5};
      request.answers = 3;
      request.keeps_text = request_keeps;
      AnswerReader reader = Submit(*scheduler, request);
      RunAll(*scheduler);
      ExpectAlone(request, reader);
      EXPECT_EQ(scheduler->Snapshot().prompt_rows, 50 + 2);
      EXPECT_EQ(reader.answers()[2].usage.cached_tokens, 49);
      if (scheduler_keeps && request_keeps) continue;
      EXPECT_EQ(scheduler->Snapshot().kept_bytes, 0u);
    }
  }
}

// Four requests begin with the same 70 tokens and go on with 20 of their own. The first request
// reads them in passes of 16 rows; the others wait for it instead of reading them as well.
TEST_F(SchedulerTest, RequestsThatArriveTogetherReadTheirPrefixOnce) {
  constexpr int kShared = 70, kOwn = 20, kRequests = 4;
  for (const bool keeps : {true, false}) {
    Rig rig(target_, "pld");
    SchedulerOptions options = Options();
    options.rows = 16;
    options.keeps_texts = keeps;
    const auto scheduler = New(rig.generator(), options);
    std::vector<Request> requests;
    std::vector<AnswerReader> readers;
    for (uint64_t i = 0; i < kRequests; ++i) {
      Request request = Ask(4, kShared, 12);
      const Request own = Ask(10 + i, kOwn, 1);
      request.prompt.push_back(static_cast<Token>(i));  // they differ from here on
      request.prompt.insert(request.prompt.end(), own.prompt.begin(), own.prompt.end() - 1);
      requests.push_back(request);
      readers.push_back(Submit(*scheduler, request));
    }
    RunAll(*scheduler);
    for (size_t i = 0; i < requests.size(); ++i) ExpectAlone(requests[i], readers[i]);
    const int times = keeps ? 1 : kRequests;
    EXPECT_EQ(scheduler->Snapshot().prompt_rows, times * kShared + kRequests * kOwn) << keeps;
    EXPECT_EQ(scheduler->Snapshot().cached_tokens, keeps ? (kRequests - 1) * kShared : 0) << keeps;
    EXPECT_EQ(readers[3].answers()[0].usage.cached_tokens, keeps ? kShared : 0) << keeps;
  }
}

// A prefix of less than a page is not waited for: its rows cost less than a pass.
TEST_F(SchedulerTest, NobodyWaitsForAShortPrefix) {
  Rig rig(target_, "none");
  SchedulerOptions options = Options();
  options.rows = 64;
  const auto scheduler = New(rig.generator(), options);
  const Request first = Ask(4, 30, 3);
  Request second = first;
  second.prompt.push_back(7);
  AnswerReader a = Submit(*scheduler, first), b = Submit(*scheduler, second);
  scheduler->RunOnce();
  EXPECT_EQ(scheduler->Snapshot().prompt_rows, 30 + 31);
  RunAll(*scheduler);
  ExpectAlone(first, a);
  ExpectAlone(second, b);
}

TEST_F(SchedulerTest, CancellingEndsAllAnswersOfARequest) {
  Rig rig(target_, "none");
  const auto scheduler = New(rig.generator(), Options());
  for (const int passes : {0, 1, 3}) {
    Request request = Ask(4, 60, 12);
    request.answers = 3;
    AnswerReader reader = Submit(*scheduler, request);
    for (int pass = 0; pass < passes; ++pass) scheduler->RunOnce();
    scheduler->Cancel(reader.stream().id());
    EXPECT_FALSE(scheduler->RunOnce());
    reader.Read();
    EXPECT_TRUE(reader.stream().ended());
    for (const WholeAnswer& answer : reader.answers()) {
      EXPECT_EQ(answer.finish, FinishReason::kCancelled) << passes;
    }
  }
}

// Every pass takes a second.
TEST_F(SchedulerTest, TimesAreThoseOfTheClock) {
  Rig rig(target_, "none");
  double now = 100;
  SchedulerOptions options = Options();
  options.slots = 1;
  options.clock = [&now] { return now; };
  const auto scheduler = New(rig.generator(), options);
  AnswerReader first = Submit(*scheduler, Ask(1, 20, 4)),
               second = Submit(*scheduler, Ask(2, 20, 3));
  while (scheduler->RunOnce()) ++now;
  first.Read();
  second.Read();
  const AnswerTimes a = first.answers()[0].times, b = second.answers()[0].times;
  EXPECT_EQ(a.admitted, 0);
  EXPECT_EQ(a.first_token, 0);
  EXPECT_EQ(a.last_token, 3);
  EXPECT_EQ(b.admitted, 4);
  EXPECT_EQ(b.first_token, 4);
  EXPECT_EQ(b.last_token, 6);
  const Counters counters = scheduler->Snapshot();
  EXPECT_EQ(counters.first_token.count(), 2);
  EXPECT_EQ(counters.first_token.sum(), 4);
  EXPECT_EQ(counters.between_tokens.count(), 5);
  EXPECT_EQ(counters.between_tokens.sum(), 5);
  EXPECT_EQ(counters.between_tokens.largest(), 1);
  EXPECT_EQ(counters.steps, 7);
}

TEST_F(SchedulerTest, CountsWhatItDoes) {
  const Request request = Ask(5, 30, 25);
  Rig none(target_, "none");
  const std::vector<Token> text = none.Decode(request.prompt, 25, {}, kContext)->tokens;
  Rig oracle(target_, std::make_unique<OracleDrafter>(text), {.max_nodes = 4, .max_depth = 3});
  const auto scheduler = New(oracle.generator(), Options());
  AnswerReader reader = Submit(*scheduler, request);
  RunAll(*scheduler);
  ExpectAlone(request, reader);
  const Counters counters = scheduler->Snapshot();
  EXPECT_EQ(counters.submitted, 1);
  EXPECT_EQ(counters.limited, 1);
  EXPECT_EQ(counters.prompt_tokens, 30);
  EXPECT_EQ(counters.prompt_rows, 30);
  EXPECT_EQ(counters.written_tokens, 25);
  EXPECT_EQ(counters.cycles, 6);
  EXPECT_EQ(counters.cycle_tokens, 24);
  EXPECT_EQ(counters.MeanWritten(), 4);
  EXPECT_EQ(counters.drafted_tokens, 18);
  EXPECT_EQ(counters.accepted_tokens, 18);
  ASSERT_EQ(counters.accepted_at.size(), 3u);
  for (const StepAcceptance& at : counters.accepted_at) {
    EXPECT_EQ(at.reached, 6);
    EXPECT_EQ(at.accepted, 6);
  }
  EXPECT_GT(counters.most_bytes, 0u);
}

// A pass computes a chunk of the long prompt beside the rows of running answers.
TEST_F(SchedulerTest, ALongPromptDoesNotKeepOthersFromWriting) {
  Rig rig(target_, "none");
  SchedulerOptions options = Options();
  options.rows = 16;
  const auto scheduler = New(rig.generator(), options);
  const Request writes = Ask(1, 10, 60), reads = Ask(2, 130, 4);
  AnswerReader writer = Submit(*scheduler, writes);
  scheduler->RunOnce();
  AnswerReader reader = Submit(*scheduler, reads);
  int passes = 0;
  while (reader.answers()[0].tokens.empty()) {
    writer.Read();
    const size_t had = writer.answers()[0].tokens.size();
    scheduler->RunOnce();
    writer.Read();
    reader.Read();
    EXPECT_GT(writer.answers()[0].tokens.size(), had);
    ASSERT_LT(++passes, 40);
  }
  EXPECT_GT(passes, 5);
  RunAll(*scheduler);
  ExpectAlone(writes, writer);
  ExpectAlone(reads, reader);
}

TEST_F(SchedulerTest, DrainingFinishesAndStoppingCancels) {
  Rig rig(target_, "none");
  const Request request = Ask(1, 20, 30);
  {
    const auto scheduler = New(rig.generator(), Options());
    AnswerReader reader = Submit(*scheduler, request);
    scheduler->Drain();
    ExpectAlone(request, reader);
    EXPECT_EQ(scheduler->Submit(request).refusal, Refusal::kClosing);
  }
  std::unique_ptr<AnswerReader> reader;
  {
    const auto scheduler = New(rig.generator(), Options());
    scheduler->Start();
    reader = std::make_unique<AnswerReader>(Submit(*scheduler, Ask(1, 20, 130)));
  }
  reader->Read();
  EXPECT_TRUE(reader->stream().ended());
}

TEST_F(SchedulerTest, NextWaitsForAsLongAsItMay) {
  Rig rig(target_, "none");
  const auto scheduler = New(rig.generator(), Options());
  AnswerReader reader = Submit(*scheduler, Ask(1, 20, 30));
  scheduler->Start();
  while (!reader.stream().ended()) {
    ASSERT_TRUE(reader.stream().Next(std::chrono::nanoseconds::max()).has_value());
  }
}

TEST_F(SchedulerTest, SaysWhenThereIsSomethingToRead) {
  Rig rig(target_, "none");
  const auto scheduler = New(rig.generator(), Options());
  Request request = Ask(1, 20, 5);
  int calls = 0;
  request.on_ready = [&calls] { ++calls; };
  AnswerReader reader = Submit(*scheduler, request);
  RunAll(*scheduler);
  reader.Read();
  EXPECT_EQ(calls, 5);
  EXPECT_EQ(reader.answers()[0].events, 5);
}

}  // namespace
}  // namespace foretoken
