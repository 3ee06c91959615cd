// The loop itself: what it tells a drafter, what it makes of guesses, and what an error leaves.
#include "engine/generator.h"

#include <gtest/gtest.h>

#include <functional>
#include <numeric>

#include "backend/strict_backend_testing.h"
#include "base/json.h"
#include "io/model_config_testing.h"

namespace foretoken {
namespace {

// What an observation said, and what it left to be compared when the text is known.
struct SeenChunk {
  int begin;  // of `committed` in the text
  std::vector<Token> committed;
  Token next;
  bool prompt;
  bool path_matches;  // committed[i] == tree.token(path[i])
};

struct ScriptState final : DraftState {
  int committed = 0;
};

// Guesses one run a cycle, and fails when a test says so.
class ScriptDrafter final : public Drafter {
 public:
  // The run for the tokens from position `at` of the text on.
  std::function<std::vector<Token>(int at)> guess = [](int) { return std::vector<Token>(); };
  std::function<bool()> observe_fails = [] { return false; };
  std::function<bool()> propose_fails = [] { return false; };
  std::vector<SeenChunk> seen_chunks;

  TapSpec Needs() const override { return {}; }
  std::unique_ptr<DraftState> NewState() const override { return std::make_unique<ScriptState>(); }

  Status Observe(std::span<const Observation> seen) override {
    if (observe_fails()) return Error{"cannot observe"};
    for (const Observation& o : seen) {
      auto& state = static_cast<ScriptState&>(o.state);
      bool matches = o.committed.size() == o.path.size();
      for (size_t i = 0; matches && i < o.path.size(); ++i) {
        matches = o.committed[i] == o.tree.token(o.path[i]);
      }
      seen_chunks.push_back(
          {state.committed, {o.committed.begin(), o.committed.end()}, o.next, o.prompt, matches});
      state.committed += static_cast<int>(o.committed.size());
    }
    return {};
  }

  Status Propose(std::span<const DraftSlot> batch) override {
    if (propose_fails()) return Error{"cannot propose"};
    for (const DraftSlot& slot : batch) {
      const std::vector<Token> run = guess(static_cast<ScriptState&>(slot.state).committed + 1);
      if (!run.empty()) slot.builder.OfferRun(0, run, -0.1f);
    }
    return {};
  }

  void Truncate(DraftState& state, int length) override {
    static_cast<ScriptState&>(state).committed = length;
  }
};

class GeneratorLoop : public ::testing::Test {
 protected:
  static constexpr int kPrompt = 20, kNew = 24, kMaxRows = 8;

  GeneratorLoop() : prompt_(kPrompt) {
    std::iota(prompt_.begin(), prompt_.end(), 1);
    Generator plain(*model_, nullptr, *verifier_, {});
    text_ = Decode(plain)->tokens;
  }

  Generator NewGenerator() {
    return Generator(*model_, &drafter_, *verifier_,
                     {.limits = {.max_nodes = kMaxRows, .max_depth = kMaxRows - 1}});
  }

  std::unique_ptr<Session> Decode(Generator& generator) {
    auto session = generator.Start({.capacity = 128});
    EXPECT_TRUE(generator.Prefill(*session, prompt_, kNew).ok());
    Session* batch[] = {session.get()};
    while (!session->done()) EXPECT_TRUE(generator.Step(batch).ok());
    return session;
  }

  // `right` tokens of the text from `at` on, and a wrong one.
  std::vector<Token> Run(int at, int right) const {
    std::vector<Token> run;
    for (int i = at; i < at + right && i < std::ssize(text_); ++i) {
      run.push_back(text_[static_cast<size_t>(i)]);
    }
    const auto behind = static_cast<size_t>(at) + run.size();
    if (behind < text_.size()) run.push_back((text_[behind] + 1) % model_->config().vocab);
    return run;
  }

  std::unique_ptr<Backend> backend_ = NewTestedBackend({.threads = 1});
  std::unique_ptr<Model> model_ = *NewRandomModel(
      TestConfig({.vocab = 61, .context = 256}), DType::kF32, 1, *backend_, {.max_rows = kMaxRows});
  Json none_ = Json::object();
  std::unique_ptr<Verifier> verifier_ = *NewVerifier("exact", {*backend_, none_});
  std::vector<Token> prompt_;
  std::vector<Token> text_;  // prompt and answer of plain decoding
  ScriptDrafter drafter_;
};

TEST_F(GeneratorLoop, TellsTheDrafterEveryTokenOnce) {
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
    constexpr int kInCycles = kNew - 1;  // the prompt's pass writes the first
    EXPECT_EQ(std::ssize(cycles), (kInCycles + right) / (right + 1));
  }
}

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
    EXPECT_EQ(session->tokens.size(), before + (observing ? 3 : 0)) << "what was accepted stays";
    EXPECT_TRUE(
        std::ranges::equal(session->tokens, std::span(text_).first(session->tokens.size())));
    // A prompt begins anew.
    ASSERT_TRUE(generator.Prefill(*session, prompt_, kNew).ok());
    EXPECT_FALSE(session->is_broken());
    EXPECT_EQ(session->reused, 0);
    while (!session->done()) ASSERT_TRUE(generator.Step(batch).ok());
    EXPECT_EQ(session->tokens, text_);
    *hook = [] { return false; };
  }
}

// Finds no numbers in the logits from some position on.
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

TEST_F(GeneratorLoop, ALogitThatIsNoNumberIsAnErrorThatNamesThePass) {
  for (const size_t from : {size_t{0}, size_t{kPrompt + 3}}) {
    BlindVerifier blind(*verifier_, from);
    Generator generator(*model_, nullptr, blind, {});
    const auto session = generator.Start({.capacity = 128});
    Session* batch[] = {session.get()};
    Status status = generator.Prefill(*session, prompt_, kNew);
    while (status.ok()) status = generator.Step(batch);
    const size_t position = from == 0 ? kPrompt - 1 : from;
    EXPECT_EQ(status.error().message.find("the pass at position " + std::to_string(position) +
                                          " gave a logit that is not a number"),
              0u)
        << status.error().message;
    EXPECT_TRUE(session->is_broken());
    EXPECT_EQ(session->tokens.size(), position + 1) << "what was written stays";
    Generator again(*model_, nullptr, *verifier_, {});
    ASSERT_TRUE(again.Prefill(*session, prompt_, kNew).ok());
    while (!session->done()) ASSERT_TRUE(again.Step(batch).ok());
    EXPECT_EQ(session->tokens, text_);
  }
}

}  // namespace
}  // namespace foretoken
