// After every cycle a session's cache and drafter hold what a fresh session's would hold, and
// answers end at their limits.
#include <gtest/gtest.h>

#include "base/step_testing.h"
#include "rig.h"

namespace foretoken {
namespace {

class SessionState : public ::testing::TestWithParam<std::string> {
 protected:
  Target target_{TinyConfig(2)};

  std::vector<float> CacheOf(const Session& session, int rows) {
    std::vector<float> all, part;
    for (int layer = 0; layer < target_.model->config().layers; ++layer) {
      for (const PagedRows& t : {session.cache().Keys(layer), session.cache().Values(layer)}) {
        part.resize(static_cast<size_t>(rows * t.cols));
        target_.backend->Download(t, 0, rows, part.data());
        all.insert(all.end(), part.begin(), part.end());
      }
    }
    return all;
  }
};

// The committed rows of a session's cache equal those of a fresh prefill.
TEST_P(SessionState, CommittedRowsAreThoseOfAPrefill) {
  Rig rig(target_, GetParam()), fresh(target_, "none");
  for (uint64_t i = 0; i < 3; ++i) {
    const auto session = rig.Start(i == 0 ? SamplingParams{} : VariedSampling(i));
    ASSERT_TRUE(rig.generator().Prefill(*session, RepetitivePrompt(i, 40, 97), 30).ok());
    Session* batch[] = {session.get()};
    while (!session->done()) {
      EXPECT_TRUE(rig.generator().Step(batch).ok());
      const int length = session->cache().length();
      const auto again = fresh.Start({});
      const auto committed = std::span(session->tokens).first(static_cast<size_t>(length));
      ASSERT_TRUE(fresh.generator().Prefill(*again, committed, 1).ok());
      ASSERT_EQ(CacheOf(*session, length), CacheOf(*again, length));
    }
  }
}

// Turns of a chat share a prefix: reusing its rows gives the text and the drafts of a fresh
// session.
TEST_P(SessionState, ReusedPrefixesChangeNothing) {
  Rig rig(target_, GetParam());
  const auto session = rig.Start({});
  Session* batch[] = {session.get()};
  std::vector<Token> prompt = RepetitivePrompt(1, 30, 97);
  for (int turn = 0; turn < 4; ++turn) {
    ASSERT_TRUE(rig.generator().Prefill(*session, prompt, 25).ok());
    EXPECT_EQ(session->reused > 0, turn > 0);
    Rig fresh(target_, GetParam());
    const auto expected = fresh.Start({});
    ASSERT_TRUE(fresh.generator().Prefill(*expected, prompt, 25).ok());
    Session* expected_batch[] = {expected.get()};
    while (!expected->done()) {
      ASSERT_EQ(Print((*rig.generator().Draft(batch))[0]),
                Print((*fresh.generator().Draft(expected_batch))[0]));
      EXPECT_TRUE(rig.generator().Step(batch).ok());
      EXPECT_TRUE(fresh.generator().Step(expected_batch).ok());
      ASSERT_EQ(session->tokens, expected->tokens);
    }
    ASSERT_TRUE(session->done());
    prompt = session->tokens;
    if (turn == 1) prompt.resize(prompt.size() - 12);  // an answer was cut, as Ctrl-C does
    const std::vector<Token> more = RepetitivePrompt(1, 11, 97);
    prompt.insert(prompt.end(), more.begin(), more.end());
  }
}

// A conversation whose sampling is changed goes on, from cached rows, as if begun with that
// sampling.
TEST_P(SessionState, SamplingCanBeChangedBetweenAnswers) {
  Rig rig(target_, GetParam()), fresh(target_, "none");
  const std::vector<Token> prompt = RepetitivePrompt(1, 30, 97);
  const auto session = rig.Start({});
  Session* batch[] = {session.get()};
  for (uint64_t i : {0u, 1u, 2u}) {
    const SamplingParams sampling = i == 0 ? SamplingParams{} : VariedSampling(i);
    rig.generator().SetSampling(*session, sampling);
    ASSERT_TRUE(rig.generator().Prefill(*session, prompt, 25).ok());
    EXPECT_EQ(session->reused > 0, i > 0);
    while (!session->done()) ASSERT_TRUE(rig.generator().Step(batch).ok());
    const auto expected = fresh.Start(sampling);
    Session* expected_batch[] = {expected.get()};
    ASSERT_TRUE(fresh.generator().Prefill(*expected, prompt, 25).ok());
    while (!expected->done()) ASSERT_TRUE(fresh.generator().Step(expected_batch).ok());
    EXPECT_EQ(session->tokens, expected->tokens);
  }
}

// A stopped prompt leaves its rows. The next prompt reuses them, and its text is unchanged.
TEST_P(SessionState, AStoppedPromptIsResumed) {
  Rig rig(target_, GetParam()), fresh(target_, "none");
  const std::vector<Token> prompt = RepetitivePrompt(1, 200, 97);  // four chunks
  int asked = 0;
  const auto session = rig.generator().Start(
      {.capacity = 256, .cache_type = DType::kF32, .is_stopped = [&] { return ++asked == 2; }});
  const Status stopped = rig.generator().Prefill(*session, prompt, 25);
  ASSERT_FALSE(stopped.ok());
  EXPECT_EQ(stopped.error().message, "stopped after 128 of the prompt's 200 tokens");
  ASSERT_TRUE(rig.generator().Prefill(*session, prompt, 25).ok());
  EXPECT_EQ(session->reused, 128);
  Session* batch[] = {session.get()};
  while (!session->done()) ASSERT_TRUE(rig.generator().Step(batch).ok());
  EXPECT_EQ(session->tokens, fresh.Decode(prompt, 25)->tokens);
}

// A drafter skips a text while reading it costs too much. Once it is cheap, the grown text is read
// from a later position, and the next text from its first token.
TEST_P(SessionState, WhatIsNotWorthReadingIsNotRead) {
  Rig rig(target_, Combination{GetParam(), "auto"}), plain(target_, "none");
  std::vector<DraftCosts*> parts;
  std::vector<DraftCosts> fresh;
  if (rig.drafter() != nullptr) {
    for (const DraftPart& part : rig.drafter()->Parts()) {
      parts.push_back(&rig.generator().options().costs->Drafter(DraftKey(part)));
      parts.back()->Observe(0, /*unread=*/100, /*passes=*/1);
      fresh.push_back(*parts.back());
      for (int i = 0; i < 8; ++i) parts.back()->Observe(0, /*unread=*/100, /*passes=*/1e4);
    }
  }
  const auto forget = [&] {
    for (size_t p = 0; p < parts.size(); ++p) *parts[p] = fresh[p];
  };
  const auto session = rig.Start({});
  Session* batch[] = {session.get()};
  const auto nodes_drafted = [&](std::span<const Token> prompt) {
    EXPECT_TRUE(rig.generator().Prefill(*session, prompt, 60).ok());
    while (!session->done()) EXPECT_TRUE(rig.generator().Step(batch).ok());
    EXPECT_EQ(session->tokens, plain.Decode(prompt, 60)->tokens);
    int nodes = 0;
    for (const Cycle& cycle : session->cycles) nodes += cycle.nodes;
    return nodes;
  };
  const bool only_reads = rig.drafter() != nullptr && !rig.drafter()->Needs().hidden.empty() &&
                          rig.drafter()->NeedsUnread().hidden.empty();
  const std::vector<Token> prompt = RepetitivePrompt(1, 40, 97);
  nodes_drafted(prompt);
  EXPECT_EQ(session->read_from() == Session::kNever, !parts.empty());
  forget();
  std::vector<Token> longer = session->tokens;
  longer.insert(longer.end(), prompt.begin(), prompt.end());
  nodes_drafted(longer);
  EXPECT_GT(session->reused, 0);
  if (!parts.empty()) {
    EXPECT_GE(session->read_from(), session->reused);
    EXPECT_LT(session->read_from(), std::ssize(longer));
  }
  forget();
  const std::vector<Token> another = {7, 3, 7, 3, 7, 3, 7};
  const int nodes = nodes_drafted(another);
  EXPECT_EQ(session->read_from(), 0);
  EXPECT_TRUE(!only_reads || nodes > 0);
}

// The drafter reads only the end of a long prompt. A text that is cut inside or before the unread
// part, and then goes on differently, is drafted for as usual.
TEST_P(SessionState, TheEndOfALongPromptIsReadAlone) {
  Rig rig(target_, Combination{GetParam(), "auto"}), plain(target_, "none");
  if (rig.drafter() != nullptr) {
    for (const DraftPart& part : rig.drafter()->Parts()) {
      DraftCosts& costs = rig.generator().options().costs->Drafter(DraftKey(part));
      costs.Observe(0, /*unread=*/100, /*passes=*/1);
    }
  }
  const auto session = rig.Start({});
  Session* batch[] = {session.get()};
  const std::vector<Token> whole = RepetitivePrompt(2, 200, 97);
  int nodes = 0;
  for (const int kept : {200, 190, 100, 30}) {
    std::vector<Token> prompt(whole.begin(), whole.begin() + kept);
    const std::vector<Token> more = RepetitivePrompt(static_cast<uint64_t>(kept), 40, 97);
    prompt.insert(prompt.end(), more.begin(), more.end());
    ASSERT_TRUE(rig.generator().Prefill(*session, prompt, 40).ok());
    if (rig.drafter() != nullptr) {
      EXPECT_GT(session->read_from(), 0) << kept;
      EXPECT_LT(session->read_from(), kept + 40) << kept;
    }
    while (!session->done()) EXPECT_TRUE(rig.generator().Step(batch).ok());
    EXPECT_EQ(session->tokens, plain.Decode(prompt, 40)->tokens);
    for (const Cycle& cycle : session->cycles) nodes += cycle.nodes;
  }
  const bool only_reads = rig.drafter() != nullptr && !rig.drafter()->Needs().hidden.empty() &&
                          rig.drafter()->NeedsUnread().hidden.empty();
  EXPECT_TRUE(!only_reads || nodes > 0);
}

// Each copied token equals the token at its source, which lies before the copy.
TEST_P(SessionState, SourcesHoldTheTokensCopied) {
  Rig rig(target_, GetParam());
  int copied = 0, accepted = 0;
  for (uint64_t i = 0; i < 20; ++i) {
    const auto session = rig.Decode(RepetitivePrompt(i, 60, 97), 40, VariedSampling(i));
    ASSERT_EQ(session->sources.size(), session->written().size());
    for (size_t w = 0; w < session->sources.size(); ++w) {
      const Pos source = session->sources[w];
      if (source == kNoPos) continue;
      ASSERT_LT(source, session->prompt + static_cast<int>(w));
      ASSERT_EQ(session->tokens[static_cast<size_t>(source)], session->written()[w]);
      ++copied;
    }
    for (const Cycle& c : session->cycles) accepted += c.n_acc;
  }
  if (GetParam().starts_with("pld")) {
    EXPECT_GT(copied, 20);
    EXPECT_EQ(copied, accepted);
  }
}

TEST_P(SessionState, PromptsOfOneTokenKeepTheText) {
  Rig rig(target_, GetParam()), plain(target_, "none");
  for (Token token = 0; token < 10; token += TestStep()) {
    const std::vector<Token> prompt{token};
    ASSERT_EQ(rig.Decode(prompt, 30)->tokens, plain.Decode(prompt, 30)->tokens);
  }
}

TEST_P(SessionState, NoTokenBeyondTheLimit) {
  Rig rig(target_, GetParam()), plain(target_, "none");
  const std::vector<Token> prompt = RepetitivePrompt(2, 50, 97);
  const std::vector<Token> all = plain.Decode(prompt, 40)->tokens;
  for (int limit = 1; limit <= 40; limit += TestStep()) {
    const auto session = rig.Decode(prompt, limit);
    ASSERT_EQ(session->written().size(), static_cast<size_t>(limit));
    ASSERT_EQ(session->tokens, std::vector<Token>(all.begin(), all.begin() + 50 + limit));
    ASSERT_EQ(session->finish, Finish::kLimit);
  }
}

TEST_P(SessionState, TheContextEndsTheAnswer) {
  Rig rig(target_, GetParam()), plain(target_, "none");
  for (int capacity = 31; capacity < 60; capacity += TestStep()) {
    const std::vector<Token> prompt = RepetitivePrompt(3, 30, 97);
    const auto session = rig.Decode(prompt, 1000, {}, capacity);
    ASSERT_EQ(session->finish, Finish::kContext);
    ASSERT_EQ(static_cast<int>(session->tokens.size()), capacity);
    ASSERT_EQ(session->tokens, plain.Decode(prompt, 1000, {}, capacity)->tokens);
  }
}

// Each token is tried as the stop token: it may be a root, lie deep in a draft, or never occur.
TEST_P(SessionState, StopsAfterTheFirstStopToken) {
  Rig rig(target_, GetParam()), plain(target_, "none");
  const std::vector<Token> prompt = RepetitivePrompt(5, 60, 97);
  const std::vector<Token> all = plain.Decode(prompt, 40)->tokens;
  for (Token stop = 0; stop < 97; stop += TestStep()) {
    const auto session = rig.Decode(prompt, 40, {}, 256, {stop});
    const auto first = std::find(all.begin() + 60, all.end(), stop);
    const auto end = first == all.end() ? first : first + 1;
    ASSERT_EQ(session->tokens, std::vector<Token>(all.begin(), end));
    ASSERT_EQ(session->finish, first == all.end() ? Finish::kLimit : Finish::kStop);
    ASSERT_EQ(session->cache().length() + 1, static_cast<int>(session->tokens.size()));
  }
}

INSTANTIATE_TEST_SUITE_P(Drafters, SessionState, ::testing::ValuesIn(DrafterNames()),
                         [](const auto& info) { return ParameterName(info.param); });

TEST(Prefill, NamesWhatIsWrong) {
  Target target(TinyConfig(2));
  Rig rig(target, "none");
  const auto session = rig.Start({}, 8);
  const auto prefill = [&](std::vector<Token> prompt, int max_new) {
    return rig.generator().Prefill(*session, prompt, max_new);
  };
  EXPECT_FALSE(prefill({}, 5).ok());
  EXPECT_FALSE(prefill({1}, 0).ok());
  EXPECT_FALSE(prefill({1, 97}, 5).ok());
  EXPECT_FALSE(prefill({1, -1}, 5).ok());
  EXPECT_FALSE(prefill({1, 2, 3, 4, 5, 6, 7, 8}, 5).ok());
  EXPECT_TRUE(prefill({1, 2, 3, 4, 5, 6, 7}, 5).ok());
  EXPECT_EQ(session->finish, Finish::kContext);
}

// Drafts of up to 70 tokens are cut to the 16 rows of a pass, and the text is unchanged.
TEST(Limits, LongDraftsAreCutToThePass) {
  Target target(TinyConfig(2), 1, 1, 16);
  Rig rig(target, "pld+h", 256, {.max_nodes = 71, .max_depth = 70}), plain(target, "none");
  const std::vector<Token> prompt = RepetitivePrompt(8, 90, 97);
  const auto session = rig.Decode(prompt, 60);
  EXPECT_EQ(session->tokens, plain.Decode(prompt, 60)->tokens);
  for (const Cycle& c : session->cycles) EXPECT_LT(c.nodes, 16);
}

}  // namespace
}  // namespace foretoken
