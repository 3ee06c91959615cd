// When the system has no more memory, every answer of a scheduler ends: either equal to the answer
// that its request gets when run alone, or with an error after a prefix of that answer. This
// program's own mmap fails on demand.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>

#include "base/step_testing.h"
#include "scheduler_rig.h"

namespace {

int maps_left = INT_MAX;  // anonymous mmaps that still succeed

}  // namespace

extern "C" void* mmap(void* at, size_t length, int protection, int flags, int file,
                      off_t offset) noexcept {
  if ((flags & MAP_ANONYMOUS) != 0 && maps_left != INT_MAX && maps_left-- <= 0) {
    maps_left = 0;
    errno = ENOMEM;
    return MAP_FAILED;
  }
  return reinterpret_cast<void*>(syscall(SYS_mmap, at, length, protection, flags, file, offset));
}

namespace foretoken {
namespace {

constexpr int kContext = 160;

TEST(SchedulerWithoutMemory, EveryAnswerEndsAndLaterOnesAreWhole) {
  Target plain_target(TinyConfig(2));
  const auto tokenizer = PiecesTokenizer(97);
  Rig plain(plain_target, "none", kContext);
  AloneAnswers alone(plain.generator(), *tokenizer);
  int whole = 0, failed = 0;
  bool struck = true;
  for (int allowed = 0; struck; allowed += TestStep()) {
    ASSERT_LT(allowed, 2000);
    Target target(TinyConfig(2));
    Rig rig(target, "pld", kContext);
    const auto scheduler =
        *Scheduler::Create(rig.generator(), *target.model, *tokenizer,
                           {.slots = 3, .context = kContext, .cache_type = DType::kF32});
    std::vector<Request> requests;
    std::vector<AnswerReader> readers;
    const auto submit = [&](uint64_t text) {
      requests.push_back({.prompt = RepetitivePrompt(text, 60, 97), .max_new = 20});
      readers.emplace_back(scheduler->Submit(requests.back()).stream, 1);
    };
    for (uint64_t text = 0; text < 5; ++text) submit(text);
    maps_left = allowed;
    for (int pass = 0; scheduler->RunOnce(); ++pass) {
      if (pass < 1000) continue;
      maps_left = INT_MAX;
      FAIL() << "it does not end";
    }
    struck = maps_left == 0;
    maps_left = INT_MAX;
    submit(9);
    while (scheduler->RunOnce()) {
    }
    for (size_t i = 0; i < readers.size(); ++i) {
      readers[i].Read();
      const WholeAnswer& answer = readers[i].answers()[0];
      const WholeAnswer expected = alone.Of(requests[i], 0, kContext);
      if (answer.finish == FinishReason::kError) {
        EXPECT_NE(answer.error.find("memory"), std::string::npos) << answer.error;
        EXPECT_LT(i + 1, readers.size()) << "there is memory again";
        ExpectBeginningOf(answer, expected);
        ++failed;
      } else {
        ExpectSameAnswer(answer, expected);
        ++whole;
      }
    }
  }
  EXPECT_GT(failed, 5);
  EXPECT_GT(whole, 5);
}

void UseUp(MemoryReserve& reserve) {
  while (reserve.Release()) {
  }
}

// When the memory reserve has been used up and the system has no memory to refill it, running
// answers end with an error.
TEST(SchedulerWithoutMemory, NothingIsWrittenWithoutTheReserve) {
  Target plain_target(TinyConfig(2)), target(TinyConfig(2));
  const auto tokenizer = PiecesTokenizer(97);
  Rig plain(plain_target, "none", kContext), rig(target, "pld", kContext);
  AloneAnswers alone(plain.generator(), *tokenizer);
  MemoryReserve reserve;
  const auto scheduler = *Scheduler::Create(
      rig.generator(), *target.model, *tokenizer,
      {.slots = 3, .context = kContext, .cache_type = DType::kF32, .reserve = &reserve});
  const auto answers = [&](bool has_memory) {
    std::vector<Request> requests;
    std::vector<AnswerReader> readers;
    for (uint64_t text = 0; text < 5; ++text) {
      requests.push_back({.prompt = RepetitivePrompt(text, 60, 97), .max_new = 20});
      readers.emplace_back(scheduler->Submit(requests.back()).stream, 1);
    }
    for (int pass = 0; pass < 4; ++pass) scheduler->RunOnce();
    UseUp(reserve);
    maps_left = has_memory ? INT_MAX : 0;
    while (scheduler->RunOnce()) {
    }
    maps_left = INT_MAX;
    int failed = 0;
    for (size_t i = 0; i < readers.size(); ++i) {
      readers[i].Read();
      const WholeAnswer& answer = readers[i].answers()[0];
      const WholeAnswer expected = alone.Of(requests[i], 0, kContext);
      if (answer.finish == FinishReason::kError) {
        EXPECT_NE(answer.error.find("memory"), std::string::npos) << answer.error;
        ExpectBeginningOf(answer, expected);
        ++failed;
      } else {
        ExpectSameAnswer(answer, expected);
      }
    }
    return failed;
  };
  EXPECT_EQ(answers(/*has_memory=*/true), 0);
  EXPECT_GE(answers(/*has_memory=*/false), 3);
  EXPECT_EQ(answers(/*has_memory=*/true), 0);
  EXPECT_TRUE(reserve.Refill());
  UseUp(reserve);
}

}  // namespace
}  // namespace foretoken
