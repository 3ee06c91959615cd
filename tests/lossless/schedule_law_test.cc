// Losslessness of the scheduler: each answer of a request equals the one decoded alone, no matter
// which requests are submitted, cancelled, set aside or resumed beside it.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <thread>

#include "dice.h"
#include "random_prediction.h"
#include "runtime/decoder.h"
#include "scheduler_rig.h"
#include "verify/filter_testing.h"

namespace foretoken {
namespace {

// The number of schedules: the value of the environment variable, `usual` where it is not set.
uint64_t ScheduleCount(const char* variable, uint64_t usual) {
  const char* asked = std::getenv(variable);
  return asked != nullptr ? std::strtoull(asked, nullptr, 10) : usual;
}

struct Limits {
  int prompt = 90, max_new = 24, vocab = 97, context = 160;
  DType cache = DType::kF32;
};

// A request, its answers, and whether the schedule cancelled it.
struct Asked {
  Request request;
  AnswerReader reader;
  bool cancelled = false;
};

// One filter for all requests that have one, as AloneAnswers requires.
std::shared_ptr<const LogitFilter> Half() {
  static const auto filter = std::make_shared<const RuleFilter>(HalfFilter());
  return filter;
}

Request RandomRequest(Dice& dice, const std::vector<Asked>& before, const Limits& limits) {
  Request request;
  // Few different texts, so that requests share prefixes and repeat each other.
  const auto text = static_cast<uint64_t>(dice.Roll(6));
  request.prompt = RepetitivePrompt(text, dice.Between(1, limits.prompt), limits.vocab);
  if (!before.empty() && dice.Chance(25)) {  // the next turn of a conversation
    const Asked& turn = before[static_cast<size_t>(dice.Roll(static_cast<int>(before.size())))];
    request.prompt = turn.request.prompt;
    const std::vector<Token>& answer = turn.reader.answers()[0].tokens;
    request.prompt.insert(request.prompt.end(), answer.begin(), answer.end());
    request.prompt.push_back(static_cast<Token>(dice.Roll(limits.vocab)));
  }
  request.prompt.resize(std::min(request.prompt.size(), static_cast<size_t>(limits.context - 2)));
  request.max_new = dice.Chance(5) ? 0 : dice.Between(1, limits.max_new);
  if (dice.Chance(50)) request.sampling = VariedSampling(static_cast<uint64_t>(dice.Roll(12)));
  if (dice.Chance(15)) request.answers = dice.Between(2, 5);
  if (dice.Chance(20)) request.stop_tokens = {static_cast<Token>(dice.Roll(limits.vocab))};
  if (dice.Chance(20)) request.logprobs = dice.Roll(4);
  if (dice.Chance(20)) request.filter = Half();
  request.wants_sources = dice.Chance(50);
  const std::string stops[] = {"a", "ab", "aab", "\xe4\xb8\xad", "ba", "bcb", "A"};
  while (dice.Chance(30)) request.stop_strings.push_back(stops[dice.Roll(7)]);
  return request;
}

SchedulerOptions RandomOptions(Dice& dice, const Limits& limits, size_t page_bytes, int max_rows) {
  SchedulerOptions options;
  options.slots = dice.Chance(50) ? dice.Between(1, 4) : dice.Between(3, 16);
  options.rows = dice.Chance(40) ? dice.Between(1, 24) : max_rows;
  options.queue = dice.Chance(20) ? dice.Between(5, 8) : 256;
  options.context = limits.context;
  options.cache_type = limits.cache;
  // From too little for some texts to enough for all.
  const int pages = dice.Chance(50) ? dice.Between(2, 12) : 1000;
  options.memory = static_cast<size_t>(pages) * page_bytes;
  options.keeps_texts = dice.Chance(80);
  return options;
}

// Runs random schedules on one target, and counts what occurred in them.
class Schedules {
 public:
  Schedules(const Model& model, const Tokenizer& tokenizer, AloneAnswers& alone,
            const Limits& limits)
      : model_(model), tokenizer_(tokenizer), alone_(alone), limits_(limits) {}

  void Run(uint64_t seed, Generator& generator, int drafters, int most_requests) {
    Dice dice(seed);
    const size_t page_bytes = model_.pages(limits_.cache).page_bytes();
    options_ = RandomOptions(dice, limits_, page_bytes, model_.max_rows());
    options_.drafters = drafters;
    auto scheduler = *Scheduler::Create(generator, model_, tokenizer_, options_);
    std::vector<Asked> asked;
    const int requests = dice.Chance(10) ? most_requests : dice.Between(1, 8);
    while (static_cast<int>(asked.size()) < requests) {
      Submit(dice, *scheduler, asked);
      for (int passes = dice.Chance(50) ? 0 : dice.Roll(12); passes > 0; --passes) {
        scheduler->RunOnce();
        Disturb(dice, *scheduler, asked);
      }
    }
    const bool is_stopped = dice.Chance(5);
    if (is_stopped) {
      scheduler->Stop();
      for (Asked& each : asked) each.cancelled = true;
    } else {
      int passes = 0;
      while (scheduler->RunOnce()) {
        ASSERT_LT(++passes, 100000) << "it does not end";
        Disturb(dice, *scheduler, asked);
      }
    }
    for (size_t i = 0; i < asked.size() && !::testing::Test::HasFailure(); ++i) Check(asked[i]);
    const Counters counters = scheduler->Snapshot();
    EXPECT_EQ(counters.running + counters.waiting, 0);
    EXPECT_EQ(counters.submitted,
              counters.stopped + counters.limited + counters.cancelled + counters.failed);
    set_aside_ += counters.set_aside;
    cached_ += counters.cached_tokens;
    accepted_ += counters.accepted_tokens;
  }

  int64_t whole() const { return whole_; }
  int64_t cancelled() const { return cancelled_; }
  int64_t failed() const { return failed_; }
  int64_t stopped_by_text() const { return stopped_by_text_; }
  int64_t set_aside() const { return set_aside_; }
  int64_t cached() const { return cached_; }
  int64_t accepted() const { return accepted_; }
  int64_t predicted() const { return predicted_; }
  int64_t copies() const { return copies_; }

 private:
  void Submit(Dice& dice, Scheduler& scheduler, std::vector<Asked>& asked) {
    Request request = RandomRequest(dice, asked, limits_);
    request.drafter = dice.Roll(options_.drafters);
    if (dice.Chance(40)) {
      const std::vector<Token> answer = alone_.Of(request, 0, limits_.context).tokens;
      request.prediction = RandomPrediction(dice, answer, limits_.vocab);
    }
    Submission submission = scheduler.Submit(request);
    if (submission.stream == nullptr) {
      ASSERT_NE(submission.refusal, Refusal::kClosing);
      scheduler.RunOnce();
      if (submission.refusal == Refusal::kBusy) return;
      // The only invalid requests here are prompts that do not fit into the memory.
      ASSERT_NE(submission.error.find("memory"), std::string::npos) << submission.error;
      asked.push_back({request, AnswerReader(nullptr, request.answers)});
      return;
    }
    asked.push_back({request, AnswerReader(std::move(submission.stream), request.answers)});
  }

  static void Disturb(Dice& dice, Scheduler& scheduler, std::vector<Asked>& asked) {
    Asked& any = asked[static_cast<size_t>(dice.Roll(static_cast<int>(asked.size())))];
    if (dice.Chance(50)) any.reader.Read();
    if (!any.reader.has_stream() || !dice.Chance(2)) return;
    any.cancelled = true;
    if (dice.Chance(50)) {
      scheduler.Cancel(any.reader.stream().id());
    } else {
      any.reader.stream().Cancel();
    }
  }

  void Check(Asked& asked) {
    if (!asked.reader.has_stream()) return;
    asked.reader.Read();
    ASSERT_TRUE(asked.reader.stream().ended());
    for (int i = 0; i < asked.request.answers; ++i) {
      const WholeAnswer& whole = asked.reader.answers()[static_cast<size_t>(i)];
      const WholeAnswer alone = alone_.Of(asked.request, i, limits_.context);
      ExpectTrueCopies(asked.request, whole);
      if (whole.finish == FinishReason::kCancelled) {
        EXPECT_TRUE(asked.cancelled);
        ExpectBeginningOf(whole, alone);
        ++cancelled_;
      } else if (whole.finish == FinishReason::kError) {
        // The memory is less than the text alone needs.
        EXPECT_NE(whole.error.find("memory"), std::string::npos) << whole.error;
        ExpectBeginningOf(whole, alone);
        ++failed_;
      } else {
        ExpectSameAnswer(whole, alone);
        ++whole_;
        predicted_ += whole.usage.accepted_prediction_tokens;
        copies_ += std::ssize(whole.copies);
        if (!whole.stop.empty()) ++stopped_by_text_;
      }
    }
  }

  const Model& model_;
  const Tokenizer& tokenizer_;
  AloneAnswers& alone_;
  Limits limits_;
  SchedulerOptions options_;
  int64_t whole_ = 0, cancelled_ = 0, failed_ = 0, stopped_by_text_ = 0, set_aside_ = 0;
  int64_t cached_ = 0, accepted_ = 0, predicted_ = 0, copies_ = 0;
};

TEST(ScheduleLaw, EveryAnswerIsTheOneItsRequestHasAlone) {
  Target target(TinyConfig(2));
  const auto tokenizer = PiecesTokenizer(97);
  Rig plain(target, "none");
  AloneAnswers alone(plain.generator(), *tokenizer);
  Schedules schedules(*target.model, *tokenizer, alone, {});
  // All drafters with all trees, in mixes of five that lie far apart in the list.
  const std::vector<Combination> all = AllCombinations();
  constexpr size_t kMixed = 5;
  const size_t mixes = (all.size() + kMixed - 1) / kMixed;
  std::vector<std::unique_ptr<MixedRig>> rigs(mixes);
  constexpr uint64_t kUsual = 200;
  const uint64_t count = ScheduleCount("FT_SCHEDULES", kUsual);
  for (uint64_t i = 0; i < count; ++i) {
    auto& rig = rigs[i % mixes];
    if (rig == nullptr) {
      std::vector<Combination> mix;
      for (size_t c = i % mixes; c < all.size(); c += mixes) mix.push_back(all[c]);
      rig = std::make_unique<MixedRig>(target, mix);
    }
    schedules.Run(i, rig->generator(), rig->drafters(), /*most_requests=*/64);
    ASSERT_FALSE(HasFailure()) << "schedule " << i;
  }
  if (count < kUsual) return;
  // Every kind of outcome must have occurred, or it was not tested.
  EXPECT_GT(schedules.whole(), static_cast<int64_t>(count));
  EXPECT_GT(schedules.cancelled(), static_cast<int64_t>(count / 20));
  EXPECT_GT(schedules.failed(), 0);
  EXPECT_GT(schedules.stopped_by_text(), static_cast<int64_t>(count / 10));
  EXPECT_GT(schedules.set_aside(), static_cast<int64_t>(count / 10));
  EXPECT_GT(schedules.cached(), static_cast<int64_t>(count * 10));
  EXPECT_GT(schedules.accepted(), static_cast<int64_t>(count));
  EXPECT_GT(schedules.predicted(), static_cast<int64_t>(count));
  EXPECT_GT(schedules.copies(), static_cast<int64_t>(count));
}

// Drafters with their default trees, which depend on measured times: trees differ from run to run,
// texts do not.
TEST(ScheduleLaw, HoldsOnARealModel) {
  const uint64_t count = ScheduleCount("FT_REAL_SCHEDULES", 0);
  const std::string path = FT_SOURCE_DIR "/build/models/smollm2-135m-instruct-q4_1.gguf";
  if (count == 0) GTEST_SKIP() << "make check-long runs it (FT_REAL_SCHEDULES)";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not there";
  const auto loaded = Load({.path = path});
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  const Limits limits{
      .prompt = 300, .vocab = loaded->model->config().vocab, .context = 512, .cache = DType::kF16};
  std::vector<Decoder> decoders;
  for (const char* drafter : {"none", "pld", "pld+h", "lookahead", "auto"}) {
    auto decoder = NewDecoder(*loaded, {.drafter = drafter}, limits.context);
    ASSERT_TRUE(decoder.ok()) << decoder.error().message;
    decoders.push_back(*std::move(decoder));
    if (decoders.size() == 1) continue;
    decoders[0].generator->AddDrafter(decoders.back().drafter.get(),
                                      decoders.back().generator->options());
  }
  AloneAnswers alone(*decoders[0].generator, *loaded->tokenizer, limits.cache);
  Schedules schedules(*loaded->model, *loaded->tokenizer, alone, limits);
  for (uint64_t i = 0; i < count; ++i) {
    schedules.Run(i, *decoders[0].generator, static_cast<int>(decoders.size()),
                  /*most_requests=*/16);
    ASSERT_FALSE(HasFailure()) << "schedule " << i;
  }
}

// Several client threads beside the scheduler's own.
TEST(ScheduleLaw, HoldsAmongThreads) {
  Target target(TinyConfig(2));
  const auto tokenizer = PiecesTokenizer(97);
  Rig plain(target, "none");
  AloneAnswers alone(plain.generator(), *tokenizer);
  Rig rig(target, "pld");
  constexpr int kClients = 6, kRequests = 8;
  const Limits limits;
  SchedulerOptions options{.slots = 4, .context = limits.context, .cache_type = DType::kF32};
  auto scheduler = *Scheduler::Create(rig.generator(), *target.model, *tokenizer, options);
  scheduler->Start();
  std::vector<std::vector<Asked>> asked(kClients);
  std::vector<std::thread> clients;
  for (int client = 0; client < kClients; ++client) {
    clients.emplace_back([&, client] {
      Dice dice(static_cast<uint64_t>(client) + 1000);
      auto& mine = asked[static_cast<size_t>(client)];
      for (int i = 0; i < kRequests; ++i) {
        Request request = RandomRequest(dice, mine, limits);
        if (dice.Chance(40)) {
          request.prediction = RandomPrediction(dice, request.prompt, limits.vocab);
        }
        Submission submission = scheduler->Submit(request);
        ASSERT_NE(submission.stream, nullptr) << submission.error;
        mine.push_back({request, AnswerReader(std::move(submission.stream), request.answers)});
        if (dice.Chance(20)) {
          mine.back().cancelled = true;
          scheduler->Cancel(mine.back().reader.stream().id());
        }
        if (dice.Chance(70)) mine.back().reader.ReadAll();
        (void)scheduler->Snapshot();
      }
    });
  }
  for (std::thread& client : clients) client.join();
  scheduler->Drain();
  for (auto& mine : asked) {
    for (Asked& each : mine) {
      each.reader.ReadAll();
      for (int i = 0; i < each.request.answers; ++i) {
        const WholeAnswer& whole = each.reader.answers()[static_cast<size_t>(i)];
        const WholeAnswer expected = alone.Of(each.request, i, limits.context);
        if (whole.finish == FinishReason::kCancelled) {
          EXPECT_TRUE(each.cancelled);
          ExpectBeginningOf(whole, expected);
        } else {
          ExpectSameAnswer(whole, expected);
        }
      }
    }
  }
}

}  // namespace
}  // namespace foretoken
