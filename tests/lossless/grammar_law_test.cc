// Losslessness under a grammar: with every drafter and tree, the text and its log-probabilities are
// those that the target alone gives under the grammar. Every verifier keeps the greedy text and
// samples texts that match.
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

#include "grammar/grammar.h"
#include "grammar/grammar_filter.h"
#include "rig.h"

namespace foretoken {
namespace {

constexpr int kGrammarNew = 40;
constexpr Token kToyEnd = 0;  // a control character, which no grammar here contains
constexpr const char* kListGrammar =
    "root ::= item (\", \" item)* \".\"\nitem ::= [a-f]{1,4} | [0-9]+ \"-\" item | \"(\" root "
    "\")\"";
constexpr const char* kObjectSchema =
    R"({"type": "array", "items": {"type": "object", "properties": {
    "name": {"type": "string", "maxLength": 5}, "n": {"type": "integer"}, "ok": {"type": "boolean"}},
    "required": ["name", "n"]}})";

// A target, grammars over the toy tokenizer's characters, and the target's texts under them without
// drafts.
class Constrained {
 public:
  Constrained() {
    const auto trie = TokenTrie::Build(*target_.tokenizer, std::vector<Token>{kToyEnd});
    filters_.push_back(*NewGrammarFilter(*GrammarOfGbnf(kListGrammar, "test"), trie));
    filters_.push_back(*NewGrammarFilter(*GrammarOfSchemaText(kObjectSchema, "test"), trie));
  }

  Target& target() { return target_; }
  const LogitFilter* Filter(uint64_t i) const { return filters_[i % filters_.size()].get(); }
  std::unique_ptr<Session> Decode(Rig& rig, uint64_t i, bool sampled) {
    auto session = rig.generator().Start({.sampling = Sampling(i, sampled),
                                          .stop = {kToyEnd},
                                          .capacity = 256,
                                          .filter = filters_[i % filters_.size()],
                                          .logprobs = 2});
    const std::vector<Token> prompt = RepetitivePrompt(i, 1 + static_cast<int>(i * 7 % 90), 97);
    EXPECT_TRUE(rig.generator().Prefill(*session, prompt, kGrammarNew).ok());
    Session* batch[] = {session.get()};
    while (!session->done()) {
      const Status status = rig.generator().Step(batch);
      EXPECT_TRUE(status.ok()) << status.error().message;
      if (!status.ok()) break;
    }
    return session;
  }
  const Session& Plain(uint64_t i, bool sampled) {
    auto& session = plain_[{i, sampled}];
    if (!session) session = Decode(rig_, i, sampled);
    return *session;
  }
  std::string Text(const Session& session) const {
    return target_.tokenizer->Decode(session.written());
  }

 private:
  static SamplingParams Sampling(uint64_t i, bool sampled) {
    return sampled ? VariedSampling(i) : SamplingParams{};
  }

  Target target_{TinyConfig(2)};
  Rig rig_{target_, "none"};
  std::vector<std::shared_ptr<const LogitFilter>> filters_;
  std::map<std::pair<uint64_t, bool>, std::unique_ptr<Session>> plain_;
};

// Prompts per combination; fewer in instrumented builds (tests/lossless/CMakeLists.txt).
uint64_t PromptCount() {
  const char* asked = std::getenv("FT_IDENTITY_PROMPTS");
  return asked != nullptr ? std::strtoull(asked, nullptr, 10) : 4;
}

void ExpectSameLogprobs(const Session& actual, const Session& expected) {
  ASSERT_EQ(actual.logprobs.size(), actual.written().size());
  ASSERT_EQ(expected.logprobs.size(), expected.written().size());
  for (size_t t = 0; t < expected.logprobs.size(); ++t) {
    const TokenLogprobs &a = actual.logprobs[t], &e = expected.logprobs[t];
    ASSERT_EQ(a.chosen, e.chosen) << "token " << t;
    ASSERT_EQ(a.top.size(), e.top.size());
    for (size_t r = 0; r < e.top.size(); ++r) {
      ASSERT_EQ(a.top[r].token, e.top[r].token);
      ASSERT_EQ(a.top[r].log_share, e.top[r].log_share);
    }
  }
}

// Shared by the tests, so that each text without drafts is decoded once.
Constrained& Everything() {
  static auto* const all = new Constrained;
  return *all;
}

class GrammarIdentity : public ::testing::TestWithParam<Combination> {};

TEST_P(GrammarIdentity, TheTextIsThatWithoutDrafts) {
  Rig rig(Everything().target(), GetParam());
  for (const bool sampled : {false, true}) {
    for (uint64_t i = 0; i < PromptCount(); ++i) {
      const Session& expected = Everything().Plain(i, sampled);
      const auto actual = Everything().Decode(rig, i, sampled);
      ASSERT_EQ(actual->tokens, expected.tokens) << Everything().Text(*actual) << "\n"
                                                 << Everything().Text(expected);
      ASSERT_EQ(actual->finish, expected.finish);
      ExpectSameLogprobs(*actual, expected);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Registries, GrammarIdentity, ::testing::ValuesIn(AllCombinations()),
                         [](const auto& info) { return ParameterName(info.param); });

class GrammarVerifiers : public ::testing::TestWithParam<std::string> {};

TEST_P(GrammarVerifiers, KeepTheGreedyTextAndSampleTextsThatMatch) {
  for (const VerifierEntry& e : AllVerifiers()) {
    Rig rig(Everything().target(), Combination{GetParam(), "eagle2", std::string(e.name)});
    ASSERT_EQ(Everything().Decode(rig, 1, false)->tokens, Everything().Plain(1, false).tokens)
        << e.name;
    const auto sampled = Everything().Decode(rig, 3, true);
    ASSERT_EQ(sampled->written().size(), sampled->logprobs.size());
    const auto state = Everything().Filter(3)->Fork();
    for (const Token t : sampled->written()) {
      ASSERT_TRUE(state->Allows(t)) << e.name;
      state->Accept(t);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Drafters, GrammarVerifiers, ::testing::ValuesIn(DrafterNames()),
                         [](const auto& info) { return ParameterName(info.param); });

// Drafts are accepted under a grammar; otherwise the tests above would prove nothing.
TEST(GrammarDrafts, AreAccepted) {
  Rig rig(Everything().target(), Combination{.drafter = "draft-model", .tree = "eagle2"});
  int accepted = 0;
  for (uint64_t i = 0; i < 4; ++i) {
    const auto decoded = Everything().Decode(rig, i, false);
    for (const Cycle& c : decoded->cycles) accepted += c.n_acc;
  }
  EXPECT_GT(accepted, 20);
}

// The answer matches the grammar, and only the end token follows a complete text.
TEST(GrammarAnswer, EndsWithTheGrammar) {
  Target target(TinyConfig(2));
  Rig rig(target, "pld");
  const auto trie = TokenTrie::Build(*target.tokenizer, std::vector<Token>{kToyEnd});
  const auto automaton = *GrammarOfGbnf("root ::= [a-c]{3} \"-\" [0-9]{2}", "test");
  const std::shared_ptr<const LogitFilter> filter = *NewGrammarFilter(automaton, trie);
  for (const bool ends : {true, false}) {
    auto session =
        rig.generator().Start({.stop = ends ? std::vector<Token>{kToyEnd} : std::vector<Token>{},
                               .capacity = 128,
                               .filter = filter});
    Session* batch[] = {session.get()};
    for (int answer = 0; answer < 2; ++answer) {  // the filter starts over with every answer
      ASSERT_TRUE(rig.generator().Prefill(*session, RepetitivePrompt(answer + 3, 20, 97), 12).ok());
      while (!session->done()) ASSERT_TRUE(rig.generator().Step(batch).ok());
      const std::string text = target.tokenizer->Decode(session->written());
      EXPECT_EQ(text.substr(3, 1), "-");
      EXPECT_EQ(session->finish, ends ? Finish::kStop : Finish::kLimit);
      EXPECT_EQ(session->written().size(), ends ? 7u : 12u);
      EXPECT_EQ(session->tokens.back(), kToyEnd) << "nothing follows a whole text but its end";
    }
  }
}

// If no token can spell what must follow, the answer ends with an error that says so.
TEST(GrammarAnswer, ADeadEndIsAnErrorWithASentence) {
  Target target(TinyConfig(2));
  Rig rig(target, "none");
  const auto trie = TokenTrie::Build(*target.tokenizer, std::vector<Token>{kToyEnd});
  const std::shared_ptr<const LogitFilter> filter =
      *NewGrammarFilter(*GrammarOfGbnf("root ::= \"ab\\u00e9\"", "test"), trie);
  auto session = rig.generator().Start({.capacity = 64, .filter = filter});
  Session* batch[] = {session.get()};
  Status status = rig.generator().Prefill(*session, RepetitivePrompt(1, 10, 97), 20);
  while (status.ok() && !session->done()) status = rig.generator().Step(batch);
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().message.find("no token of the model's vocabulary may follow"),
            std::string::npos)
      << status.error().message;
  EXPECT_TRUE(session->is_broken());
}

// A grammar that exceeds GrammarLimits::ways ends the answer with the same error, with or without
// drafts.
TEST(GrammarAnswer, GivesUpAlikeWithDrafts) {
  Target target(TinyConfig(2));
  const auto trie = TokenTrie::Build(*target.tokenizer, std::vector<Token>{kToyEnd});
  const std::shared_ptr<const LogitFilter> filter =
      *NewGrammarFilter(*GrammarOfGbnf("root ::= ([0-9]{1,15}){20}", "test"), trie, {.ways = 900});
  const auto error_with = [&](const char* drafter) {
    Rig rig(target, Combination{.drafter = drafter, .tree = "eagle2"});
    auto session = rig.generator().Start({.stop = {kToyEnd}, .capacity = 256, .filter = filter});
    Session* batch[] = {session.get()};
    Status status = rig.generator().Prefill(*session, RepetitivePrompt(2, 30, 97), 150);
    while (status.ok() && !session->done()) status = rig.generator().Step(batch);
    return status.ok() ? std::string() : status.error().message;
  };
  const std::string expected = error_with("none");
  EXPECT_NE(expected.find("may follow"), std::string::npos) << expected;
  for (const char* drafter : {"pld", "eagle", "draft-model"}) {
    EXPECT_EQ(error_with(drafter), expected) << drafter;
  }
}

// Trees hold no node that the grammar forbids, except probes.
TEST(GrammarAnswer, OffersThatAreForbiddenAreDropped) {
  Target target(TinyConfig(2));
  const auto trie = TokenTrie::Build(*target.tokenizer, std::vector<Token>{kToyEnd});
  const std::shared_ptr<const LogitFilter> filter =
      *NewGrammarFilter(*GrammarOfGbnf("root ::= (\"abc\" | \"xy\")*", "test"), trie);
  for (const char* drafter : {"pld", "eagle", "medusa", "draft-model"}) {
    Rig rig(target, Combination{.drafter = drafter, .tree = "eagle2"});
    auto session = rig.generator().Start({.stop = {kToyEnd}, .capacity = 200, .filter = filter});
    Session* batch[] = {session.get()};
    ASSERT_TRUE(rig.generator().Prefill(*session, RepetitivePrompt(2, 30, 97), 60).ok());
    while (!session->done()) {
      const auto trees = rig.generator().Draft(batch);
      ASSERT_TRUE(trees.ok());
      for (Node n = 1; n < (*trees)[0].size(); ++n) {
        if ((*trees)[0].kind(n) == CandidateTree::Kind::kProbe) continue;
        std::vector<Token> path;
        for (Node at = n; at != 0; at = (*trees)[0].parent(at)) {
          path.insert(path.begin(), (*trees)[0].token(at));
        }
        const auto state = session->filter()->Fork();
        for (const Token t : path) {
          ASSERT_TRUE(state->Allows(t)) << drafter;
          state->Accept(t);
        }
      }
      ASSERT_TRUE(rig.generator().Step(batch).ok());
    }
  }
}

}  // namespace
}  // namespace foretoken
