// Tests of the decoding loop: what the drafter observes, which guesses are written, and the state
// after an error.
#include "engine/generator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/generator_loop_testing.h"
#include "verify/filter_testing.h"

namespace foretoken {
namespace {

TEST_F(GeneratorLoop, TheDrafterObservesEveryTokenOnce) {
  drafter_.guess = [this](int at) { return Run(at, at % 4); };
  Generator generator = NewGenerator();
  const auto session = Decode(generator);
  EXPECT_EQ(session->tokens, text_);
  int told = 0;
  for (const SeenChunk& h : drafter_.seen_chunks) {
    ASSERT_EQ(h.begin, told);
    EXPECT_TRUE(h.path_matches) << told;
    const auto expected = std::span(text_).subspan(static_cast<size_t>(told), h.committed.size());
    EXPECT_TRUE(std::ranges::equal(h.committed, expected)) << told;
    told += static_cast<int>(h.committed.size());
    EXPECT_EQ(h.next, text_[static_cast<size_t>(told)]) << told;
    EXPECT_EQ(h.prompt, told <= kPrompt) << told;
  }
  EXPECT_EQ(told + 1, std::ssize(text_)) << "the last token is the next root";
  EXPECT_GT(drafter_.seen_chunks.size(), size_t{kPrompt / kMaxRows}) << "the prompt came in chunks";
}

// A cycle writes the guesses that are right, then the target's own token.
TEST_F(GeneratorLoop, WritesRightGuessesAndTheTokenAfterThem) {
  for (int right : {0, 1, 3, 6}) {
    drafter_.guess = [this, right](int at) { return Run(at, right); };
    Generator generator = NewGenerator();
    const auto session = Decode(generator);
    EXPECT_EQ(session->tokens, text_);
    const auto& cycles = session->cycles;
    for (size_t i = 0; i + 1 < cycles.size(); ++i) {  // the last one is cut by the limit
      EXPECT_EQ(cycles[i].n_acc, right) << i;
      EXPECT_EQ(cycles[i].written, right + 1) << i;
      EXPECT_EQ(cycles[i].nodes, right + 1) << i;
    }
    constexpr int kInCycles = kNew - 1;  // the prompt's pass writes the first token
    EXPECT_EQ(std::ssize(cycles), (kInCycles + right) / (right + 1));
  }
}

// Without guesses every cycle scores only the root and writes one token.
TEST_F(GeneratorLoop, ADrafterWithoutGuessesLeavesPlainCycles) {
  Generator generator = NewGenerator();
  const auto session = Decode(generator);
  EXPECT_EQ(session->tokens, text_);
  for (const Cycle& cycle : session->cycles) {
    EXPECT_EQ(cycle.nodes, 0);
    EXPECT_EQ(cycle.written, 1);
  }
}

TEST_F(GeneratorLoop, DraftShowsTheNextTreeAndChangesNothing) {
  drafter_.guess = [this](int at) { return Run(at, at % 3); };
  Generator generator = NewGenerator();
  const auto session = generator.Start({.capacity = 128});
  ASSERT_TRUE(generator.Prefill(*session, prompt_, kNew).ok());
  Session* batch[] = {session.get()};
  while (!session->done()) {
    const int length = static_cast<int>(session->tokens.size());
    const auto first = generator.Draft(batch), second = generator.Draft(batch);
    ASSERT_TRUE(first.ok() && second.ok());
    const CandidateTree& tree = (*first)[0];
    ASSERT_EQ(tree.size(), (*second)[0].size());
    for (Node n = 0; n < tree.size(); ++n) EXPECT_EQ(tree.token(n), (*second)[0].token(n));
    EXPECT_EQ(std::ssize(session->tokens), length);
    ASSERT_TRUE(generator.Step(batch).ok());
    EXPECT_EQ(session->cycles.back().nodes, tree.size() - 1);
  }
  EXPECT_EQ(session->tokens, text_);
}

TEST_F(GeneratorLoop, ADraftersErrorEndsTheStepAndKeepsTheText) {
  drafter_.guess = [this](int at) { return Run(at, 2); };
  bool fails = false;
  for (auto* hook : {&drafter_.observe_fails, &drafter_.propose_fails}) {
    *hook = [&fails] { return fails; };
    Generator generator = NewGenerator();
    const auto session = generator.Start({.capacity = 128});
    ASSERT_TRUE(generator.Prefill(*session, prompt_, kNew).ok());
    Session* batch[] = {session.get()};
    ASSERT_TRUE(generator.Step(batch).ok());
    const auto before = session->tokens.size();
    fails = true;
    const Status status = generator.Step(batch);
    fails = false;
    ASSERT_FALSE(status.ok());
    const bool observing = hook == &drafter_.observe_fails;
    EXPECT_EQ(status.error().message, observing ? "cannot observe" : "cannot propose");
    EXPECT_TRUE(session->is_broken());
    EXPECT_EQ(session->tokens.size(), before + (observing ? 3 : 0)) << "accepted tokens stay";
    EXPECT_TRUE(
        std::ranges::equal(session->tokens, std::span(text_).first(session->tokens.size())));
    // The next prompt starts over.
    ASSERT_TRUE(generator.Prefill(*session, prompt_, kNew).ok());
    EXPECT_FALSE(session->is_broken());
    EXPECT_EQ(session->reused, 0);
    while (!session->done()) ASSERT_TRUE(generator.Step(batch).ok());
    EXPECT_EQ(session->tokens, text_);
    *hook = [] { return false; };
  }
}

// Pretends to find a NaN in the logits once the text has more than `from` tokens.
class BlindVerifier final : public Verifier {
 public:
  BlindVerifier(Verifier& inner, size_t from) : inner_(inner), from_(from) {}
  std::vector<Acceptance> Verify(std::span<const Scoring> batch) override {
    if (batch[0].history.size() > from_) return {{{0}, kNoToken, {}}};
    return inner_.Verify(batch);
  }

 private:
  Verifier& inner_;
  size_t from_;
};

TEST_F(GeneratorLoop, ANaNLogitIsAnErrorThatNamesThePass) {
  for (const size_t from : {size_t{0}, size_t{kPrompt + 3}}) {
    BlindVerifier blind(*verifier_, from);
    Generator generator(*model_, nullptr, blind, {});
    const auto session = generator.Start({.capacity = 128});
    Session* batch[] = {session.get()};
    Status status = generator.Prefill(*session, prompt_, kNew);
    while (status.ok()) status = generator.Step(batch);
    const size_t position = from == 0 ? kPrompt - 1 : from;
    EXPECT_THAT(status.error().message, testing::StartsWith("random model: the pass at position " +
                                                            std::to_string(position) +
                                                            " gave a logit that is not a number"));
    EXPECT_TRUE(session->is_broken());
    EXPECT_EQ(session->tokens.size(), position + 1) << "written tokens stay";
    Generator again(*model_, nullptr, *verifier_, {});
    ASSERT_TRUE(again.Prefill(*session, prompt_, kNew).ok());
    while (!session->done()) ASSERT_TRUE(again.Step(batch).ok());
    EXPECT_EQ(session->tokens, text_);
  }
}

// A dead end, where the filter lets no token follow, gives the same error as in autoregressive
// decoding, for any accepted path and any size of the tree. If a stop token ends the text there,
// the answer is complete.
TEST_F(GeneratorLoop, DeadEndsAreThoseOfAutoregressiveDecoding) {
  Generator plain(*model_, nullptr, *verifier_, {});
  int accepted = 0;
  for (const size_t dead : {size_t{1}, size_t{3}, size_t{6}, size_t{8}}) {
    const auto filter = std::make_shared<const RuleFilter>(
        [dead](const std::vector<Token>& text, Token /*token*/) { return text.size() < dead; });
    for (const bool stops : {false, true}) {
      SessionOptions options{.capacity = 128, .filter = filter, .logprobs = 1};
      if (stops) options.stop = {text_[kPrompt + dead - 1]};
      const auto run = [&](Generator& generator) {
        auto session = generator.Start(options);
        Session* batch[] = {session.get()};
        Status status = generator.Prefill(*session, prompt_, kNew);
        while (status.ok() && !session->done()) status = generator.Step(batch);
        return session;
      };
      const auto expected = run(plain);
      for (const int right : {0, 1, 2, 6}) {
        drafter_.guess = [this, right](int at) { return Run(at, right); };
        Generator generator = NewGenerator();
        const auto session = run(generator);
        EXPECT_EQ(session->tokens, expected->tokens) << dead << ", " << right;
        EXPECT_EQ(session->logprobs.size(), session->written().size());
        EXPECT_EQ(session->finish, expected->finish);
        EXPECT_EQ(session->failed_by_itself(), expected->failed_by_itself());
        ASSERT_EQ(session->status.ok(), expected->status.ok());
        for (const Cycle& cycle : session->cycles) accepted += cycle.n_acc;
        if (stops) continue;
        ASSERT_FALSE(session->status.ok());
        EXPECT_EQ(session->status.error().message, expected->status.error().message);
        EXPECT_EQ(session->written().size(), dead);
        EXPECT_TRUE(session->failed_by_itself());
      }
    }
  }
  EXPECT_GT(accepted, 10);
}

}  // namespace
}  // namespace foretoken
