// The fixture of the scheduler's tests: a tiny target, and each request's answer decoded alone.
#pragma once

#include <gtest/gtest.h>

#include <memory>

#include "scheduler_rig.h"

namespace foretoken {

inline constexpr int kContext = 160;

class SchedulerCase : public ::testing::Test {
 protected:
  SchedulerOptions Options() const {
    return {.slots = 4, .context = kContext, .cache_type = DType::kF32};
  }
  std::unique_ptr<Scheduler> New(Generator& generator, const SchedulerOptions& options) {
    auto made = Scheduler::Create(generator, *target_.model, *tokenizer_, options);
    EXPECT_TRUE(made.ok());
    return *std::move(made);
  }
  static Request Ask(uint64_t text, int prompt, int max_new) {
    return {.prompt = RepetitivePrompt(text, prompt, 97), .max_new = max_new};
  }
  static AnswerReader Submit(Scheduler& scheduler, const Request& request) {
    Submission submission = scheduler.Submit(request);
    EXPECT_NE(submission.stream, nullptr) << submission.error;
    return {std::move(submission.stream), request.answers};
  }
  void ExpectAlone(const Request& request, AnswerReader& reader) {
    reader.Read();
    for (int i = 0; i < request.answers; ++i) {
      ExpectSameAnswer(reader.answers()[static_cast<size_t>(i)], alone_.Of(request, i, kContext));
    }
  }
  static void RunAll(Scheduler& scheduler) {
    for (int pass = 0; scheduler.RunOnce(); ++pass) ASSERT_LT(pass, 10000);
  }
  size_t PageBytes() const {
    const ModelConfig& c = target_.model->config();
    return 64 * 8 * static_cast<size_t>(c.layers * c.kv_heads * c.head_dim);
  }

  Target target_{TinyConfig(2)};
  std::shared_ptr<const Tokenizer> tokenizer_ = PiecesTokenizer(97);
  Rig plain_{target_, "none", kContext};
  AloneAnswers alone_{plain_.generator(), *tokenizer_};
};

}  // namespace foretoken
