// Tests of grammars over a vocabulary's tokens: masks, ends, and tokens that split characters.
#include "grammar/grammar_filter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "base/rng.h"
#include "grammar/grammar_testing.h"
#include "io/gguf.h"
#include "io/model_file.h"

namespace foretoken {
namespace {

using ::testing::ElementsAre;

std::vector<Token> AllowedByMask(LogitFilter& filter, size_t vocab) {
  std::vector<float> logits(vocab, 1.5f);
  filter.Mask(logits);
  std::vector<Token> allowed;
  for (size_t t = 0; t < vocab; ++t) {
    EXPECT_TRUE(logits[t] == 1.5f || logits[t] == -INFINITY);
    if (logits[t] == 1.5f) allowed.push_back(static_cast<Token>(t));
  }
  return allowed;
}

std::vector<Token> AllowedOneByOne(LogitFilter& filter, size_t vocab) {
  std::vector<Token> allowed;
  for (size_t t = 0; t < vocab; ++t) {
    if (filter.Allows(static_cast<Token>(t))) allowed.push_back(static_cast<Token>(t));
  }
  return allowed;
}

// Tokens: 0 unknown, 1 bos, 2 end, 3 to 258 the bytes, then `pieces`.
std::shared_ptr<const TokenTrie> ByteTrie(std::vector<std::string> pieces) {
  TokenizerData data;
  data.kind = TokenizerKind::kSentencePiece;
  const auto add = [&](const std::string& piece, TokenType type) {
    data.tokens.push_back(piece);
    data.types.push_back(type);
    data.scores.push_back(0);
  };
  add("<unk>", TokenType::kUnknown);
  add("<s>", TokenType::kControl);
  add("</s>", TokenType::kControl);
  for (int byte = 0; byte < 256; ++byte) {
    char name[8];
    std::snprintf(name, sizeof name, "<0x%02X>", static_cast<unsigned>(byte));
    add(name, TokenType::kByte);
  }
  for (const std::string& piece : pieces) add(piece, TokenType::kNormal);
  data.unknown = 0;
  data.bos = 1;
  data.eos = 2;
  data.eog = {2};
  const auto tokenizer = *Tokenizer::Create(std::move(data), "test");
  return TokenTrie::Build(*tokenizer, tokenizer->data().eog);
}
constexpr size_t kByteVocab = 259;
constexpr Token kEnd = 2;
Token ByteToken(int byte) { return 3 + byte; }

std::unique_ptr<LogitFilter> FilterOf(std::string_view gbnf,
                                      std::shared_ptr<const TokenTrie> trie) {
  return *NewGrammarFilter(*GrammarOfGbnf(gbnf, "test"), std::move(trie));
}

TEST(GrammarFilter, AllowsTokensThatFitAndEndsWhereTheGrammarMayEnd) {
  // 259 ab, 260 abc, 261 b, 262 another ab
  const auto trie = ByteTrie({"ab", "abc", "b", "ab"});
  const auto filter = FilterOf("root ::= \"ab\" | \"abcc\"", trie);
  constexpr size_t kPadded = kByteVocab + 20;  // models have more logits than tokens
  EXPECT_FALSE(filter->MayEnd());
  EXPECT_THAT(AllowedByMask(*filter, kPadded), ElementsAre(ByteToken('a'), 259, 260, 262));
  const auto fork = filter->Fork();
  filter->Accept(262);
  EXPECT_TRUE(filter->MayEnd());
  EXPECT_THAT(AllowedByMask(*filter, kPadded), ElementsAre(kEnd, ByteToken('c')));
  filter->Accept(kEnd);
  EXPECT_TRUE(filter->MayEnd());
  EXPECT_THAT(AllowedByMask(*filter, kPadded), ElementsAre(kEnd)) << "the answer is over";
  EXPECT_THAT(AllowedOneByOne(*filter, kPadded), ElementsAre(kEnd));
  fork->Accept(260);
  EXPECT_FALSE(fork->MayEnd()) << "forks go ways of their own";
  EXPECT_THAT(AllowedByMask(*fork, kPadded), ElementsAre(ByteToken('c')));
  fork->Accept(ByteToken('c'));
  EXPECT_THAT(AllowedByMask(*fork, kPadded), ElementsAre(kEnd)) << "nothing else may follow";
  for (const Token never : {0, 1, -1, static_cast<Token>(kPadded), 1 << 30}) {
    EXPECT_FALSE(FilterOf("root ::= .*", trie)->Allows(never)) << never;
  }
}

TEST(GrammarFilter, TokensMayEndInMidCharacter) {
  const auto trie = ByteTrie({});
  const auto filter =
      FilterOf("root ::= \"x\" [\\u00e9\\u4e2d-\\u4e2e]", trie);  // C3 A9, E4 B8 AD/AE
  filter->Accept(ByteToken('x'));
  EXPECT_THAT(AllowedByMask(*filter, kByteVocab), ElementsAre(ByteToken(0xC3), ByteToken(0xE4)));
  const auto other = filter->Fork();
  filter->Accept(ByteToken(0xC3));
  EXPECT_FALSE(filter->MayEnd());
  EXPECT_THAT(AllowedByMask(*filter, kByteVocab), ElementsAre(ByteToken(0xA9)));
  other->Accept(ByteToken(0xE4));
  other->Accept(ByteToken(0xB8));
  EXPECT_THAT(AllowedByMask(*other, kByteVocab), ElementsAre(ByteToken(0xAD), ByteToken(0xAE)));
  other->Accept(ByteToken(0xAE));
  EXPECT_TRUE(other->MayEnd());
}

TEST(GrammarFilter, NeedsATokenThatEnds) {
  TokenizerData data = {};
  data.kind = TokenizerKind::kByteBpe;
  data.pre = "gpt-2";
  data.tokens = {"a"};
  data.types = {TokenType::kNormal};
  const auto tokenizer = *Tokenizer::Create(std::move(data), "test");
  const auto filter =
      NewGrammarFilter(*GrammarOfGbnf("root ::= \"a\"", "test"), TokenTrie::Build(*tokenizer, {}));
  ASSERT_FALSE(filter.ok());
  EXPECT_THAT(filter.error().message, testing::HasSubstr("no token that ends"));
}

// For vocabularies of 32 to 100 thousand tokens and several grammars, in states reached by random
// tokens, the mask equals the result of trying every token alone.
TEST(GrammarFilter, MasksAreThoseOfEveryTokenTriedAlone) {
  constexpr const char* kSchema = R"({"type": "object", "properties": {
      "name": {"type": "string"}, "n": {"type": "integer", "minimum": 3, "maximum": 5000},
      "tags": {"type": "array", "items": {"type": "string", "maxLength": 20}, "maxItems": 3},
      "kind": {"enum": ["alpha", "alphabet", "beta"]}}, "required": ["name"],
      "additionalProperties": {"type": "number"}})";
  const std::shared_ptr<const Automaton> grammars[] = {
      *GrammarOfSchemaText(kSchema, "test"), GrammarOfJsonObject(),
      *GrammarOfGbnf("root ::= (item \"\\n\")+\nitem ::= \"- \" [^\\n]+ | [a-z]+ (\" \" [a-z]+)*",
                     "test")};
  std::vector<std::string> paths{FT_SOURCE_DIR "/models/foretoken-demo-24m-q8_0.gguf"};
  for (const char* name : {"llama-spm", "gpt-2", "phi-3", "deepseek-llm", "starcoder"}) {
    paths.push_back(std::string(FT_SHARED_DATA "/tokenizers/ggml-vocab-") + name + ".gguf");
  }
  int states = 0;
  for (const std::string& path : paths) {
    if (!std::filesystem::exists(path)) continue;
    const auto file = GgufFile::Open(path);
    ASSERT_TRUE(file.ok()) << file.error().message;
    const auto tokenizer = *Tokenizer::Create(*ReadTokenizer(*file), path);
    const auto vocab = static_cast<size_t>(tokenizer->vocab_size());
    const auto trie = TokenTrie::Build(*tokenizer, tokenizer->data().eog);
    for (const auto& grammar : grammars) {
      auto filter = *NewGrammarFilter(grammar, trie);
      std::string text;
      for (uint64_t i = 0; i < 12; ++i, ++states) {
        const std::vector<Token> allowed = AllowedByMask(*filter, vocab);
        ASSERT_EQ(allowed, AllowedOneByOne(*filter, vocab)) << path << ", after " << text;
        ASSERT_FALSE(allowed.empty());
        if (filter->MayEnd() && allowed.size() == tokenizer->data().eog.size()) break;
        const Token token = allowed[Mix(i * 31 + vocab) % allowed.size()];
        if (trie->IsEnd(token)) break;
        text += tokenizer->Piece(token);
        filter->Accept(token);
        ASSERT_NE(Read(grammar, text), Reading::kNone) << text;
      }
    }
  }
  EXPECT_GE(states, 30);
}

std::unique_ptr<LogitFilter> LimitedFilter(const char* gbnf, std::shared_ptr<const TokenTrie> trie,
                                           const GrammarLimits& limits) {
  return *NewGrammarFilter(*GrammarOfGbnf(gbnf, "test"), std::move(trie), limits);
}

// Each byte adds threads. At any limit of the work per byte, masks and single tokens must agree on
// where the text ends, and continuing anyway must lead to a dead configuration, not an abort.
TEST(GrammarFilter, AboveTheCapMasksAndTokensAgree) {
  const auto trie = ByteTrie({"11", "1111", "11a", "a1", "1.", "1,1"});
  constexpr size_t kVocab = kByteVocab + 6;
  const char* grammars[] = {"root ::= ([0-9]{1,15}){20} \"a\"?",
                            "root ::= n{20}\nn ::= [0-9]{1,15} x?\nx ::= \",\" n | \".\" x?"};
  for (const char* grammar : grammars) {
    int dead_ends = 0;
    for (const uint32_t ways : {150u, 400u, 900u, 1500u, 2500u}) {
      const auto filter = LimitedFilter(grammar, trie, {.ways = ways});
      for (uint64_t i = 0; i < 60; ++i) {
        const std::vector<Token> allowed = AllowedByMask(*filter, kVocab);
        ASSERT_EQ(allowed, AllowedOneByOne(*filter, kVocab)) << grammar << ", ways " << ways;
        const bool is_dead_end = allowed.empty();
        const Token digit = i % 3 == 0 ? kByteVocab : ByteToken('1');
        filter->Accept(is_dead_end || !filter->Allows(digit) ? ByteToken('1') : digit);
        if (!is_dead_end) continue;
        ++dead_ends;
        EXPECT_THAT(AllowedByMask(*filter, kVocab), ElementsAre());
        EXPECT_THAT(AllowedOneByOne(*filter, kVocab), ElementsAre());
        EXPECT_FALSE(filter->MayEnd());
        break;
      }
    }
    EXPECT_GE(dead_ends, 3) << grammar;
  }
}

TEST(GrammarFilter, ATokenThatIsRefusedLeadsToADeadEnd) {
  const auto filter = FilterOf("root ::= \"ab\"*", ByteTrie({}));
  filter->Accept(ByteToken('b'));
  EXPECT_FALSE(filter->MayEnd());
  EXPECT_THAT(AllowedByMask(*filter, kByteVocab), ElementsAre());
  const auto ended = FilterOf("root ::= \"ab\"*", ByteTrie({}));
  ended->Accept(kEnd);
  ended->Accept(ByteToken('a'));
  EXPECT_THAT(AllowedByMask(*ended, kByteVocab), ElementsAre());
}

// A mask that needs too much work is given up, regardless of what was computed before it.
TEST(GrammarFilter, MasksAreGivenUpByTheirWork) {
  std::vector<std::string> pieces;
  for (int i = 0; i < 1000; ++i) pieces.push_back("x" + std::to_string(i));
  const auto trie = ByteTrie(pieces);
  const size_t vocab = kByteVocab + pieces.size();
  constexpr const char* kGrammar = "root ::= \"a\" [^\\n]* | \"b\"";
  const auto limited = LimitedFilter(kGrammar, trie, {.mask_work = 600});
  for (const bool was_asked : {false, true}) {
    const auto filter = limited->Fork();
    EXPECT_THAT(AllowedByMask(*filter, vocab), ElementsAre(ByteToken('a'), ByteToken('b')));
    filter->Accept(ByteToken('a'));
    EXPECT_THAT(AllowedByMask(*filter, vocab), ElementsAre(kEnd)) << was_asked;
    EXPECT_THAT(AllowedOneByOne(*filter, vocab), ElementsAre(kEnd)) << was_asked;
  }
}

// Evicting caches in the middle of a mask does not change the mask.
TEST(GrammarFilter, MasksAreTheSameInLittleMemory) {
  std::vector<std::string> pieces;
  for (int i = 0; i < 100; ++i) {
    std::string piece;
    for (uint64_t bits = Mix(static_cast<uint64_t>(i)) | 256; bits > 1 && piece.size() < 12;
         bits /= 3) {
      piece += "(x)"[bits % 3];
    }
    pieces.push_back(piece);
  }
  const auto trie = ByteTrie(pieces);
  const size_t vocab = kByteVocab + pieces.size();
  constexpr const char* kGrammar =
      "root ::= e+\ne ::= \"(\" e* \")\" | \"(\" e \")\" e | [x()]{0,30} \"x\"";
  const auto small = LimitedFilter(kGrammar, trie, {.bytes = 10'000});
  const auto large = LimitedFilter(kGrammar, trie, {});
  for (uint64_t i = 0; i < 8; ++i) {
    const std::vector<Token> allowed = AllowedByMask(*large, vocab);
    ASSERT_EQ(AllowedByMask(*small, vocab), allowed) << "token " << i;
    ASSERT_EQ(AllowedOneByOne(*small, vocab), allowed) << "token " << i;
    ASSERT_GT(allowed.size(), 1u);
    const Token token = allowed[1 + Mix(i) % (allowed.size() - 1)];
    small->Accept(token);
    large->Accept(token);
  }
}

}  // namespace
}  // namespace foretoken
