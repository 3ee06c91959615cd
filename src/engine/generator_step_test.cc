// Tests of passes in which some sessions read their prompts and others write.
#include <gtest/gtest.h>

#include <algorithm>

#include "engine/generator_loop_testing.h"
#include "tree/tree_policy.h"
#include "verify/verifier.h"

namespace foretoken {
namespace {

class GeneratorStep : public GeneratorLoop {
 protected:
  std::unique_ptr<Session> Begun(Generator& generator, std::span<const Token> prompt,
                                 SessionOptions options = {}) {
    options.capacity = 128;
    auto session = generator.Start(options);
    EXPECT_TRUE(generator.Begin(*session, prompt, kNew).ok());
    return session;
  }

  // The text that autoregressive decoding writes after `prompt`.
  std::vector<Token> Expected(std::span<const Token> prompt) {
    Generator plain(*model_, nullptr, *verifier_, {});
    const auto session = Begun(plain, prompt);
    Session* batch[] = {session.get()};
    while (!session->done()) EXPECT_TRUE(plain.Step(batch).ok());
    return session->tokens;
  }

  static std::vector<Token> Prompt(int first, int size) {
    std::vector<Token> prompt(static_cast<size_t>(size));
    for (int i = 0; i < size; ++i) prompt[static_cast<size_t>(i)] = (first + 3 * i) % 61;
    return prompt;
  }
};

TEST_F(GeneratorStep, BeginComputesNothing) {
  Generator generator = NewGenerator();
  const auto session = Begun(generator, prompt_);
  EXPECT_TRUE(session->reading());
  EXPECT_EQ(session->cache().length(), 0);
  EXPECT_TRUE(drafter_.seen_chunks.empty());
  EXPECT_EQ(generator.seconds().forward, 0);
  Session* batch[] = {session.get()};
  ASSERT_TRUE(generator.Step(batch, 5).ok());
  EXPECT_TRUE(session->reading());
  EXPECT_EQ(session->cache().length(), 5);
  EXPECT_TRUE(session->written().empty());
  while (session->reading()) ASSERT_TRUE(generator.Step(batch, 5).ok());
  EXPECT_EQ(session->cache().length(), kPrompt);
  EXPECT_EQ(session->written().size(), 1u);
}

// A new prompt is read from where it departs from the previous prompt, even if that prompt is still
// being read.
TEST_F(GeneratorStep, BeginKeepsACommonPrefix) {
  Generator generator = NewGenerator();
  const auto session = Begun(generator, prompt_);
  Session* batch[] = {session.get()};
  ASSERT_TRUE(generator.Step(batch, 7).ok());
  std::vector<Token> other = prompt_;
  other[5] = 60;
  ASSERT_TRUE(generator.Begin(*session, other, kNew).ok());
  EXPECT_EQ(session->reused, 5);
  EXPECT_EQ(session->cache().length(), 5);
  while (!session->done()) ASSERT_TRUE(generator.Step(batch).ok());
  EXPECT_EQ(session->tokens, Expected(other));
}

// The one-row time is known after two passes; after three, if the second was disturbed (Estimate).
// A pass shared by two drafters counts once.
TEST_F(GeneratorStep, ASharedPassIsTimedOnce) {
  CostModel costs = CostModel::Assume({{1, 1}, {kMaxRows, 2}}, {});
  const auto policy = *NewTreePolicy("auto");
  GeneratorOptions options{.limits = {.max_nodes = 4, .max_depth = 3},
                           .policy = policy.get(),
                           .costs = &costs,
                           .drafter = "first"};
  Generator generator(*model_, &drafter_, *verifier_, options);
  options.drafter = "second";
  ASSERT_EQ(generator.AddDrafter(&drafter_, options), 1);
  EXPECT_EQ(generator.drafters(), 2);
  const auto first = Begun(generator, prompt_), second = Begun(generator, prompt_, {.drafter = 1});
  Session* both[] = {first.get(), second.get()};
  while (first->reading() || second->reading()) ASSERT_TRUE(generator.Step(both).ok());
  ASSERT_FALSE(costs.has_plain_pass()) << "passes with prompt rows are not timed";
  ASSERT_TRUE(generator.Step(both).ok());
  EXPECT_FALSE(costs.has_plain_pass());
  ASSERT_TRUE(generator.Step(both).ok());
  if (!costs.has_plain_pass()) {
    ASSERT_TRUE(generator.Step(both).ok());
  }
  EXPECT_TRUE(costs.has_plain_pass());
}

TEST_F(GeneratorStep, ALongPromptDelaysNoOtherSession) {
  drafter_.guess = [this](int at) { return Run(at, at % 4); };
  Generator generator = NewGenerator();
  const auto writer = Begun(generator, prompt_);
  Session* alone[] = {writer.get()};
  while (writer->reading()) ASSERT_TRUE(generator.Step(alone).ok());
  const std::vector<Token> prompt = Prompt(2, 90);
  const auto reader = Begun(generator, prompt);
  Session* both[] = {reader.get(), writer.get()};
  int passes = 0;
  while (reader->reading()) {
    const size_t had = writer->tokens.size();
    const int read = reader->cache().length();
    Session* only_reader[] = {reader.get()};
    ASSERT_TRUE(generator
                    .Step(writer->done() ? std::span<Session* const>(only_reader)
                                         : std::span<Session* const>(both),
                          kMaxRows)
                    .ok());
    EXPECT_TRUE(had == text_.size() || writer->tokens.size() > had) << "a pass without a new token";
    EXPECT_GE(reader->cache().length(), std::min(90, read + (kMaxRows - 1) / 2));
    ++passes;
  }
  EXPECT_GT(passes, 90 / kMaxRows);
  for (const auto& session : {writer.get(), reader.get()}) {
    Session* batch[] = {session};
    while (!session->done()) ASSERT_TRUE(generator.Step(batch).ok());
  }
  EXPECT_EQ(writer->tokens, text_);
  EXPECT_EQ(reader->tokens, Expected(prompt));
}

TEST_F(GeneratorStep, MoreSessionsThanRowsTakeTurns) {
  for (const int budget : {1, 2, 3}) {
    Generator generator = NewGenerator();
    std::vector<std::unique_ptr<Session>> sessions;
    std::vector<std::vector<Token>> expected;
    for (int s = 0; s < 5; ++s) {
      const std::vector<Token> prompt = Prompt(s, 3 + 4 * s);
      expected.push_back(Expected(prompt));
      sessions.push_back(Begun(generator, prompt));
    }
    for (int pass = 0; !sessions.empty(); ++pass) {
      ASSERT_LT(pass, 300);
      std::vector<Session*> batch;
      for (const auto& session : sessions) batch.push_back(session.get());
      ASSERT_TRUE(generator.Step(batch, budget).ok());
      for (size_t s = sessions.size(); s-- > 0;) {
        if (!sessions[s]->done()) continue;
        EXPECT_EQ(sessions[s]->tokens, expected[s]);
        sessions.erase(sessions.begin() + static_cast<std::ptrdiff_t>(s));
        expected.erase(expected.begin() + static_cast<std::ptrdiff_t>(s));
      }
    }
  }
}

// If the trees have more nodes than the pass has rows, every session still writes its own text.
TEST_F(GeneratorStep, TreesAreCutToTheBudget) {
  drafter_.guess = [this](int at) { return Run(at, 7); };
  Generator generator = NewGenerator();
  std::vector<std::unique_ptr<Session>> sessions;
  for (int s = 0; s < 3; ++s) sessions.push_back(Begun(generator, prompt_));
  Session* batch[] = {sessions[0].get(), sessions[1].get(), sessions[2].get()};
  while (sessions[2]->reading()) ASSERT_TRUE(generator.Step(std::span(batch).subspan(2)).ok());
  while (sessions[1]->reading()) ASSERT_TRUE(generator.Step(std::span(batch).subspan(1, 1)).ok());
  while (sessions[0]->reading()) ASSERT_TRUE(generator.Step(std::span(batch).first(1)).ok());
  while (!sessions[0]->done() && !sessions[1]->done() && !sessions[2]->done()) {
    ASSERT_TRUE(generator.Step(batch).ok());
    int nodes = 0;
    for (const Session* s : batch) nodes += s->cycles.back().nodes;
    EXPECT_LE(nodes, kMaxRows - 3);
    const bool ends = sessions[0]->tokens.size() + 8 >= text_.size();
    EXPECT_TRUE(ends || nodes == kMaxRows - 3) << nodes;
  }
  for (Session* s : batch) {
    Session* alone[] = {s};
    while (!s->done()) ASSERT_TRUE(generator.Step(alone).ok());
    EXPECT_EQ(s->tokens, text_);
  }
}

// Pretends to find a NaN in the logits of the session whose text begins with token 60, once it has
// `at` tokens.
class BlindToOne final : public Verifier {
 public:
  BlindToOne(Verifier& inner, size_t at) : inner_(inner), at_(at) {}
  std::vector<Acceptance> Verify(std::span<const Scoring> batch) override {
    std::vector<Acceptance> accepted = inner_.Verify(batch);
    for (size_t s = 0; s < batch.size(); ++s) {
      if (batch[s].history[0] == 60 && batch[s].history.size() >= at_) {
        accepted[s] = {{0}, kNoToken, {}};
      }
    }
    return accepted;
  }

 private:
  Verifier& inner_;
  size_t at_;
};

TEST_F(GeneratorStep, OneBadSessionBreaksNoOther) {
  const std::vector<Token> bad_prompt = Prompt(60, 30), good_prompt = Prompt(1, 30);
  const std::vector<Token> expected = Expected(good_prompt), unbroken = Expected(bad_prompt);
  for (const size_t at : {size_t{30}, size_t{34}}) {  // in the prompt's last chunk; after it
    BlindToOne verifier(*verifier_, at);
    Generator generator(*model_, nullptr, verifier, {});
    const auto bad = Begun(generator, bad_prompt), good = Begun(generator, good_prompt);
    Session* both[] = {bad.get(), good.get()};
    while (bad->status.ok())
      ASSERT_TRUE(generator.Step(both).ok()) << "the other session continues";
    EXPECT_TRUE(bad->is_broken());
    EXPECT_NE(bad->status.error().message.find("not a number"), std::string::npos);
    EXPECT_EQ(bad->tokens.size(), at);
    EXPECT_TRUE(std::ranges::equal(bad->tokens, std::span(unbroken).first(at)));
    Session* alone[] = {good.get()};
    while (!good->done()) ASSERT_TRUE(generator.Step(alone).ok());
    EXPECT_EQ(good->tokens, expected);
    // If only the bad session runs, Step returns its error.
    ASSERT_TRUE(generator.Begin(*bad, bad_prompt, kNew).ok());
    EXPECT_TRUE(bad->status.ok());
    Session* bad_alone[] = {bad.get()};
    Status status;
    while (status.ok()) status = generator.Step(bad_alone);
    EXPECT_EQ(status.error().message, bad->status.error().message);
  }
}

// If one session's prompt is stopped, the other sessions continue, and so can the prompt later.
TEST_F(GeneratorStep, AStoppedPromptStopsNoOther) {
  Generator generator = NewGenerator();
  int asked = 0;
  SessionOptions options;
  options.is_stopped = [&asked] { return ++asked == 2; };
  const auto stopped = Begun(generator, prompt_, options);
  const auto other = Begun(generator, prompt_);
  Session* both[] = {stopped.get(), other.get()};
  while (stopped->status.ok()) ASSERT_TRUE(generator.Step(both, 4).ok());
  EXPECT_EQ(stopped->status.error().message, "stopped after 8 of the prompt's 20 tokens");
  EXPECT_FALSE(stopped->reading() || stopped->is_broken());
  ASSERT_TRUE(generator.Begin(*stopped, prompt_, kNew).ok());
  EXPECT_EQ(stopped->reused, 8);
  for (Session* session : both) {
    Session* alone[] = {session};
    while (!session->done()) ASSERT_TRUE(generator.Step(alone).ok());
    EXPECT_EQ(session->tokens, text_);
  }
}

// Sessions of several drafters share passes; each drafter observes and proposes only for its own
// sessions.
TEST_F(GeneratorStep, DraftersSeeTheirOwnSessionsAlone) {
  ScriptDrafter second;
  drafter_.guess = [this](int at) { return Run(at, 2); };
  second.guess = [this](int at) { return Run(at, 4); };
  GeneratorOptions options{.limits = {.max_nodes = 4, .max_depth = 3}};
  Generator generator(*model_, &drafter_, *verifier_, options);
  options.limits = {.max_nodes = 6, .max_depth = 5};
  EXPECT_EQ(generator.AddDrafter(&second, options), 1);
  EXPECT_EQ(generator.AddDrafter(nullptr, {}), 2);
  std::vector<std::unique_ptr<Session>> sessions;
  for (int drafter = 0; drafter < 3; ++drafter) {
    SessionOptions session;
    session.drafter = drafter;
    sessions.push_back(Begun(generator, prompt_, session));
  }
  while (true) {
    std::vector<Session*> batch;
    for (const auto& s : sessions) {
      if (!s->done()) batch.push_back(s.get());
    }
    if (batch.empty()) break;
    ASSERT_TRUE(generator.Step(batch).ok());
  }
  for (const auto& s : sessions) EXPECT_EQ(s->tokens, text_);
  for (const ScriptDrafter* drafter : {&drafter_, &second}) {
    size_t told = 0;
    for (const SeenChunk& chunk : drafter->seen_chunks) {
      EXPECT_EQ(static_cast<size_t>(chunk.begin), told) << "another session's tokens";
      told += chunk.committed.size();
    }
    EXPECT_EQ(told + 1, text_.size());
  }
  EXPECT_LT(sessions[0]->cycles.size(), sessions[2]->cycles.size());
  EXPECT_LT(sessions[1]->cycles.size(), sessions[2]->cycles.size());
}

// An error of a drafter breaks only the sessions of that drafter.
TEST_F(GeneratorStep, ADraftersErrorBreaksItsSessionsAlone) {
  bool fails = false;
  ScriptDrafter failing;
  failing.observe_fails = [&fails] { return fails; };
  Generator generator = NewGenerator();
  const int number = generator.AddDrafter(&failing, {.limits = {.max_nodes = 4, .max_depth = 3}});
  SessionOptions options;
  options.drafter = number;
  const auto bad = Begun(generator, prompt_, options), good = Begun(generator, prompt_);
  Session* both[] = {bad.get(), good.get()};
  while (bad->reading() || good->reading()) ASSERT_TRUE(generator.Step(both).ok());
  fails = true;
  ASSERT_TRUE(generator.Step(both).ok());
  EXPECT_EQ(bad->status.error().message, "cannot observe");
  Session* alone[] = {good.get()};
  while (!good->done()) ASSERT_TRUE(generator.Step(alone).ok());
  EXPECT_EQ(good->tokens, text_);
}

}  // namespace
}  // namespace foretoken
