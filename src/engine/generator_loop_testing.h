// Fixture: a generator over a random model, with a drafter whose guesses and failures are scripted
// by the test.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <numeric>
#include <span>
#include <vector>

#include "backend/strict_backend_testing.h"
#include "base/json.h"
#include "engine/generator.h"
#include "io/model_config_testing.h"

namespace foretoken {

// Copy of an Observation, to be compared with the text once the text is known.
struct SeenChunk {
  int begin;  // position of committed[0] in the text
  std::vector<Token> committed;
  Token next;
  bool prompt;
  bool path_matches;  // committed[i] == tree.token(path[i])
};

struct ScriptState final : DraftState {
  int committed = 0;
};

// Proposes one run a cycle.
class ScriptDrafter final : public Drafter {
 public:
  // The run to propose for the tokens from position `at` of the text on.
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

  Result<std::unique_ptr<DraftState>> Fork(const DraftState&, int length) const override {
    auto fork = std::make_unique<ScriptState>();
    fork->committed = length;
    return std::unique_ptr<DraftState>(std::move(fork));
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

  // `right` tokens of the text from `at` on, then a wrong token.
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
  std::vector<Token> text_;  // prompt and answer of autoregressive decoding
  ScriptDrafter drafter_;
};

}  // namespace foretoken
