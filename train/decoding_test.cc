// Compares greedy decoding in batches with the model's forward pass over each growing text, and
// checks the lines that `train answers` writes.
#include "decoding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <utility>

#include "answers.h"
#include "base/json.h"
#include "run_testing.h"
#include "target.h"

namespace foretoken::train {
namespace {

using End = GreedyAnswer::End;
using Tokens = std::vector<Token>;
using testing::HasSubstr;

constexpr int64_t kNewTokens = 12;

bool KeepGoing(int64_t) { return true; }

// Prompts of different lengths with random tokens.
std::vector<Tokens> RandomPrompts(int64_t vocab) {
  std::vector<Tokens> prompts;
  for (const int64_t length : {5, 19, 1, 33, 12}) {
    const torch::Tensor ids = torch::randint(0, vocab, {length}, torch::kInt32);
    const int32_t* first = ids.data_ptr<int32_t>();
    prompts.emplace_back(first, first + length);
  }
  return prompts;
}

// Returns the greedy answer, with a forward pass over the whole text for each token.
GreedyAnswer Reference(FrozenTarget& target, Tokens text, const DecodingOptions& options) {
  const torch::NoGradGuard no_grad;
  GreedyAnswer answer;
  while (std::ssize(answer.tokens) < options.new_tokens) {
    Batch batch;
    batch.batch = 1;
    batch.length = std::ssize(text);
    batch.ids = torch::tensor(text, torch::kInt32);
    batch.first_key = torch::zeros({1, batch.length}, torch::kInt32);
    const torch::Tensor last = target.Features(batch).narrow(0, batch.length - 1, 1);
    const auto next =
        static_cast<Token>(torch::mm(last, target.head().t()).argmax().item<int64_t>());
    if (std::ranges::find(options.stop, next) != options.stop.end()) {
      answer.end = End::kStop;
      return answer;
    }
    answer.tokens.push_back(next);
    text.push_back(next);
  }
  return answer;
}

// Expects a batch of `prompts` to get the reference's answers.
void ExpectAnswers(FrozenTarget& target, const std::vector<Tokens>& prompts,
                   const DecodingOptions& options) {
  GreedyDecoder decoder(target.model(), options);
  const std::vector<GreedyAnswer> answers = decoder.Decode(prompts, KeepGoing);
  ASSERT_EQ(answers.size(), prompts.size());
  for (size_t i = 0; i < prompts.size(); ++i) {
    const GreedyAnswer expected = Reference(target, prompts[i], options);
    EXPECT_EQ(answers[i].tokens, expected.tokens) << "prompt " << i;
    EXPECT_EQ(answers[i].end, expected.end) << "prompt " << i;
  }
}

std::unique_ptr<FrozenTarget> OpenFamily(const std::string& family) {
  torch::manual_seed(4);
  return *FrozenTarget::Open(FT_SOURCE_DIR "/tests/parity/model/" + family, torch::kFloat32,
                             torch::kCPU);
}

// Returns a token that ends some of the answers to `prompts` early, but not all of them.
Token EarlyStop(FrozenTarget& target, const std::vector<Tokens>& prompts) {
  for (const Tokens& prompt : prompts) {
    const Token stop = Reference(target, prompt, {.new_tokens = kNewTokens}).tokens[3];
    const auto stops = std::ranges::count_if(prompts, [&](const Tokens& tried) {
      const GreedyAnswer a = Reference(target, tried, {.new_tokens = kNewTokens, .stop = {stop}});
      return a.end == End::kStop;
    });
    if (stops < std::ssize(prompts)) return stop;
  }
  ADD_FAILURE() << "every token ends all answers";
  return 0;
}

class DecodingTest : public testing::TestWithParam<const char*> {};

TEST_P(DecodingTest, BatchesMatchTheReference) {
  const auto target = OpenFamily(GetParam());
  const std::vector<Tokens> prompts = RandomPrompts(target->shape().vocab);
  ExpectAnswers(*target, prompts, {.new_tokens = kNewTokens});
  ExpectAnswers(*target, {prompts[1]}, {.new_tokens = kNewTokens});
}

INSTANTIATE_TEST_SUITE_P(Families, DecodingTest,
                         testing::Values("llama", "llama-mha", "llama-3.1", "llama-linear",
                                         "llama-yarn", "mistral", "qwen2", "qwen3"));

// Stop tokens end answers; finished sequences leave the batch without affecting the others.
TEST(DecodingStopTest, AnswersEndAtStopTokens) {
  const auto target = OpenFamily("llama");
  const std::vector<Tokens> prompts = RandomPrompts(target->shape().vocab);
  DecodingOptions options{.new_tokens = kNewTokens, .stop = {EarlyStop(*target, prompts)}};
  ExpectAnswers(*target, prompts, options);
  options.check_interval = 1;
  options.compact_below = 1.0;
  options.prefill_rows = 100;  // two prompts a pass
  ExpectAnswers(*target, prompts, options);
}

// A watch that returns false stops the batch; the answers that have ended are complete.
TEST(DecodingStopTest, WatchStopsTheBatch) {
  const auto target = OpenFamily("llama");
  const std::vector<Tokens> prompts = RandomPrompts(target->shape().vocab);
  const Tokens first = Reference(*target, prompts[0], {.new_tokens = 2}).tokens;
  GreedyDecoder decoder(target->model(),
                        {.new_tokens = 8, .stop = {first[1]}, .check_interval = 4});
  int64_t finished = 0;
  const std::vector<GreedyAnswer> answers = decoder.Decode(prompts, [&](int64_t ended) {
    finished = ended;
    return false;
  });
  int64_t complete = 0;
  for (const GreedyAnswer& answer : answers) {
    EXPECT_NE(answer.end, End::kLimit);
    complete += answer.end == End::kStop ? 1 : 0;
  }
  EXPECT_EQ(answers[0].end, End::kStop);
  EXPECT_EQ(finished, complete);
}

// Decoding with products in bf16, which chooses tokens by logits in f32, fills every answer.
TEST(DecodingStopTest, Bf16Decodes) {
  const auto target =
      *FrozenTarget::Open(FT_SOURCE_DIR "/tests/parity/model/qwen3", torch::kBFloat16, torch::kCPU);
  GreedyDecoder decoder(target->model(), {.new_tokens = kNewTokens});
  for (const GreedyAnswer& answer :
       decoder.Decode(RandomPrompts(target->shape().vocab), KeepGoing)) {
    EXPECT_EQ(std::ssize(answer.tokens), kNewTokens);
  }
}

class AnswersTest : public RunTest {
 protected:
  void SetUp() override {
    MakeTarget(FileType::kF32, /*steps=*/2);
    const std::string long_text(4000, 'x');
    std::ofstream(directory_ + "/asked.jsonl")
        << R"({"messages": [{"role": "user", "content": "What does document 12 say?"},)"
        << R"( {"role": "assistant", "content": "?"}, {"role": "user", "content": "Why?"}]})"
        << "\n"
        << R"({"text": "no question"})"
        << "\n"
        << R"({"prompt": "What does document 12 say?"})"
        << "\n"
        << R"({"prompt": ")" << long_text << R"("})"
        << "\n"
        << R"({"conversations": [{"from": "system", "value": "Be brief."},)"
        << R"( {"from": "human", "value": "Hi"}]})"
        << "\n";
    options_ = *ParseAnswerOptions({"--target", directory_ + "/target.gguf", "--data",
                                    directory_ + "/asked.jsonl", "--out", out_, "--device", "cpu",
                                    "--dtype", "f32", "--new-tokens", "6", "--context", "200",
                                    "--threads", "1", "--batch", "2", "--quiet"});
  }

  std::vector<Json> Lines() const {
    std::vector<Json> lines;
    std::ifstream in(out_);
    for (std::string line; std::getline(in, line);) lines.push_back(*ParseJson(line, out_));
    return lines;
  }

  std::string out_ = directory_ + "/answers.jsonl";
  AnswerOptions options_;
};

TEST_F(AnswersTest, FirstQuestionsAreAnsweredOnce) {
  const Status written = WriteAnswers(options_);
  ASSERT_TRUE(written.ok()) << written.error().message;
  std::vector<Json> lines = Lines();
  ASSERT_EQ(lines.size(), 2u);
  std::ranges::sort(lines, {}, [](const Json& line) { return line["source"].get<int>(); });
  EXPECT_EQ(lines[0]["source"], 0);
  EXPECT_EQ(lines[1]["source"], 4);
  const auto roles = [](const Json& line) {
    std::string names;
    for (const Json& message : line["messages"]) names += message["role"].get<std::string>() + " ";
    return names;
  };
  EXPECT_EQ(roles(lines[0]), "user assistant ");
  EXPECT_EQ(roles(lines[1]), "system user assistant ");
  EXPECT_EQ(lines[0]["messages"][0]["content"], "What does document 12 say?");
  EXPECT_FALSE(lines[0]["messages"][1]["content"].get<std::string>().empty());
}

TEST_F(AnswersTest, FilesAreReplacedOnlyWithForce) {
  std::ofstream(out_) << "mine\n";
  const Status refused = WriteAnswers(options_);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("exists already; --force replaces it"));
  options_.force = true;
  ASSERT_TRUE(WriteAnswers(options_).ok());
  EXPECT_EQ(Lines().size(), 2u);
}

TEST(AnswerOptionsTest, BadOptionsAreErrors) {
  const auto message = [](const std::vector<std::string>& args) {
    const auto options = ParseAnswerOptions(args);
    return options.ok() ? "" : options.error().message;
  };
  EXPECT_THAT(message({"--batches", "3"}), HasSubstr("unknown option '--batches'"));
  EXPECT_THAT(message({"--batch"}), HasSubstr("--batch needs a value"));
  EXPECT_THAT(message({"--batch", "0"}), HasSubstr("--batch is '0'"));
  EXPECT_THAT(message({"--dtype", "f16"}), HasSubstr("--dtype is 'f16'"));
  EXPECT_THAT(message({"--target", "m"}), HasSubstr("answers needs --target, --data and --out"));
}

}  // namespace
}  // namespace foretoken::train
