// A fork decodes like a session that has read only the shared prefix, and its origin decodes as if
// it had not been forked.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/rng.h"
#include "base/step_testing.h"
#include "rig.h"

namespace foretoken {
namespace {

constexpr int kAnswer = 24;

// What a session did: the tree and the accepted nodes of every cycle, and its tokens.
struct Cycles {
  std::vector<std::string> trees;
  std::vector<Token> tokens;
  std::vector<int> accepted;
  friend bool operator==(const Cycles&, const Cycles&) = default;
};

// Drafts for and steps the sessions of the batch that are not done, and logs what they did.
void StepAll(Generator& generator, std::span<Session* const> batch, std::span<Cycles* const> logs) {
  std::vector<Session*> open;
  for (size_t s = 0; s < batch.size(); ++s) {
    if (batch[s]->done()) continue;
    logs[s]->trees.push_back(Print((*generator.Draft(std::span(&batch[s], 1)))[0]));
    open.push_back(batch[s]);
  }
  if (open.empty()) return;
  Step(generator, open);
  for (size_t s = 0; s < batch.size(); ++s) {
    logs[s]->tokens = batch[s]->tokens;
    logs[s]->accepted.clear();
    for (const Cycle& cycle : batch[s]->cycles) logs[s]->accepted.push_back(cycle.n_acc);
  }
}

void Begin(Rig& rig, Session& session, std::span<const Token> prompt) {
  const Status status = rig.generator().Prefill(session, prompt, kAnswer);
  ASSERT_TRUE(status.ok()) << status.error().message;
}

// The log of a whole answer by a session that shares nothing.
Cycles Alone(Rig& rig, std::span<const Token> prompt, const SamplingParams& sampling) {
  const auto session = rig.Start(sampling);
  Begin(rig, *session, prompt);
  Session* batch[] = {session.get()};
  Cycles log;
  Cycles* logs[] = {&log};
  while (!session->done()) StepAll(rig.generator(), batch, logs);
  return log;
}

SamplingParams SamplingOf(uint64_t i) { return i % 2 == 0 ? SamplingParams{} : VariedSampling(i); }

// Every drafter, and all of them joined, with chains and with a tree.
std::vector<Combination> ForkCombinations() {
  std::vector<Combination> some;
  for (Combination& each : AllCombinations()) {
    if (each.tree == "chain") some.push_back(each);
    if (each.tree == "eagle2")
      some.push_back({each.drafter, "eagle2:total_token=15,depth=3,top_k=3"});
  }
  return some;
}

std::string NameOf(const Combination& combination) {
  return ParameterName(
      {combination.drafter, combination.tree.substr(0, combination.tree.find(':'))});
}

class Forks : public ::testing::TestWithParam<Combination> {
 protected:
  Target target_{TinyConfig(2)};
};

// A text that is forked after `cycles` cycles. The fork's prompt shares the text's first `length`
// tokens.
struct Case {
  int cycles, length;  // length below 0: counted from the end of the cached rows, -1 being all
  int more;            // tokens of its own; 0: it continues the original's text
};
constexpr Case kCases[] = {{0, -1, 0}, {3, 17, 60}, {4, -1, 0},
                           {2, 44, 9}, {5, -3, 90}, {1, 0, 30}};

TEST_P(Forks, GuessAsASessionThatSawNothingElse) {
  Rig rig(target_, GetParam()), fresh(target_, GetParam());
  for (uint64_t i = 0; i < std::size(kCases); i += static_cast<uint64_t>(TestStep())) {
    const auto [cycles, length, more] = kCases[i];
    const std::vector<Token> prompt = RepetitivePrompt(i, 45, 97);
    const auto session = rig.Start(SamplingOf(i));
    Begin(rig, *session, prompt);
    Session* first[] = {session.get()};
    Cycles log, fork_log;
    Cycles* logs[] = {&log, &fork_log};
    for (int c = 0; c < cycles; ++c) StepAll(rig.generator(), first, logs);

    const int held = session->cache().length();
    const int kept = std::min(length < 0 ? held + 1 + length : length, held);
    const SamplingParams sampling = SamplingOf(i + 1);
    auto forked = rig.generator().Fork(
        *session, {.sampling = sampling, .capacity = 256, .cache_type = DType::kF32}, kept);
    ASSERT_TRUE(forked.ok());
    const std::unique_ptr<Session> fork = *std::move(forked);
    std::vector<Token> other(session->tokens.begin(), session->tokens.begin() + kept + (more == 0));
    const std::vector<Token> own = RepetitivePrompt(i + 7, more, 97);
    other.insert(other.end(), own.begin(), own.end());
    Begin(rig, *fork, other);
    EXPECT_EQ(fork->reused, kept);
    Session* both[] = {session.get(), fork.get()};
    while (!session->done() || !fork->done()) StepAll(rig.generator(), both, logs);

    EXPECT_EQ(fork_log, Alone(fresh, other, sampling)) << "case " << i;
    EXPECT_EQ(log, Alone(fresh, prompt, SamplingOf(i))) << "case " << i;
  }
}

// Several answers of one prompt, by forks: each equals that of a session that shares nothing.
TEST_P(Forks, OfAPromptWriteAnswersOfTheirOwn) {
  Rig rig(target_, GetParam()), fresh(target_, GetParam());
  const std::vector<Token> prompt = RepetitivePrompt(4, 70, 97);
  std::vector<std::unique_ptr<Session>> sessions;
  std::vector<Session*> batch;
  std::vector<Cycles> logs(3);
  std::vector<Cycles*> all;
  for (uint64_t n = 0; n < logs.size(); ++n) {
    const SamplingParams sampling{.temperature = 1, .seed = n};
    if (n == 0) {
      sessions.push_back(rig.Start(sampling));
    } else {
      sessions.push_back(*rig.generator().Fork(
          *sessions[0], {.sampling = sampling, .capacity = 256, .cache_type = DType::kF32}));
    }
    Begin(rig, *sessions[n], prompt);
    EXPECT_EQ(sessions[n]->reused, n == 0 ? 0 : 69);
    batch.push_back(sessions[n].get());
    all.push_back(&logs[n]);
  }
  const auto is_open = [](const Session* session) { return !session->done(); };
  while (std::ranges::any_of(batch, is_open)) StepAll(rig.generator(), batch, all);
  for (uint64_t n = 0; n < logs.size(); ++n) {
    EXPECT_EQ(logs[n], Alone(fresh, prompt, {.temperature = 1, .seed = n})) << n;
  }
}

// StateBytes covers the memory that a draft state holds; budgets of bytes rely on it.
TEST_P(Forks, StatesSayWhatTheyHold) {
  Rig rig(target_, GetParam());
  if (rig.drafter() == nullptr) return;
  const auto session = rig.Decode(RepetitivePrompt(4, 70, 97), kAnswer);
  const size_t whole = rig.drafter()->StateBytes(session->draft_state());
  const auto half = *rig.drafter()->Fork(session->draft_state(), 40);
  EXPECT_GE(whole, 70 * sizeof(Token));
  EXPECT_GT(rig.drafter()->StateBytes(*half), 0u);
  EXPECT_LE(rig.drafter()->StateBytes(*half), whole);
}

INSTANTIATE_TEST_SUITE_P(Drafters, Forks, ::testing::ValuesIn(ForkCombinations()),
                         [](const auto& info) { return NameOf(info.param); });

}  // namespace
}  // namespace foretoken
