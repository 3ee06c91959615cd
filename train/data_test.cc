// Tests of recipes, documents, packing and logs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <numeric>

#include "base/json.h"
#include "corpus.h"
#include "dataset.h"
#include "event_log.h"
#include "files_testing.h"
#include "packing.h"
#include "recipe.h"
#include "text/documents.h"
#include "text/tokenizer.h"

namespace foretoken::train {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string Rendered(const TextDocument& document) {
  const Document rendered = RenderChatMl(document);
  std::string text;
  for (const Segment& s : rendered.segments) text += s.text + s.control;
  return text;
}

using DatasetTest = TemporaryFiles;

TEST_F(DatasetTest, RendersConversationsAsChatMl) {
  const std::string path = Write(
      "a.jsonl",
      R"({"conversations": [{"from": "system", "value": "S"}, {"from": "human", "value": "Q"},)"
      R"( {"from": "gpt", "value": "A\nB"}]})"
      "\n\n"
      R"({"messages": [{"role": "user", "content": "x"}]})"
      "\n");
  const auto documents = ReadTextDocuments(path);
  ASSERT_TRUE(documents.ok()) << documents.error().message;
  ASSERT_EQ(documents->size(), 2u);
  EXPECT_EQ(Rendered((*documents)[0]),
            "<|im_start|>system\nS<|im_end|>\n<|im_start|>user\nQ<|im_end|>\n"
            "<|im_start|>assistant\nA\nB<|im_end|>\n<|endoftext|>");
  EXPECT_EQ(Rendered((*documents)[1]), "<|im_start|>user\nx<|im_end|>\n<|endoftext|>");
}

TEST_F(DatasetTest, SplitsTextAtSeparatorLines) {
  const std::string path = Write("a.txt",
                                 "one\ntwo\n<|endoftext|>\n\n<|endoftext|>\n"
                                 "not <|endoftext|> a line\n");
  const auto documents = ReadTextDocuments(path);
  ASSERT_TRUE(documents.ok());
  ASSERT_EQ(documents->size(), 2u);
  EXPECT_EQ(Rendered((*documents)[0]), "one\ntwo\n<|endoftext|>");
  EXPECT_EQ(Rendered((*documents)[1]), "not <|endoftext|> a line\n<|endoftext|>");
}

TEST_F(DatasetTest, SkipsMalformedLines) {
  const std::string valid = R"({"messages": [{"role": "user", "content": "x"}]})";
  const auto some = ReadTextDocuments(Write("a.jsonl", valid + "\n{\n"));
  ASSERT_TRUE(some.ok()) << some.error().message;
  EXPECT_EQ(some->size(), 1u);
  const auto tool =
      ReadTextDocuments(Write("b.jsonl", R"({"messages": [{"role": "tool", "content": "x"}]})"));
  ASSERT_TRUE(tool.ok()) << tool.error().message;
  EXPECT_EQ(Rendered((*tool)[0]), "<|im_start|>tool\nx<|im_end|>\n<|endoftext|>");
  EXPECT_FALSE(ListDataFiles("nothing*.txt", directory_).ok());
}

// A corpus can hold ids of more than 16 bits, like those of Qwen's control tokens.
TEST_F(DatasetTest, CorpusHoldsLargeVocabularies) {
  Write("chat.jsonl", R"({"messages": [{"role": "user", "content": "a question"}]})"
                      "\n");
  Recipe recipe;
  recipe.vocab = 300;
  recipe.data = {{"chat.jsonl", 1.0}};
  const auto small = PrepareData(recipe, directory_, directory_, /*quiet=*/true, nullptr);
  ASSERT_TRUE(small.ok()) << small.error().message;
  TokenizerData large = small->tokenizer;
  const auto end_of_turn =
      static_cast<size_t>(std::ranges::find(large.tokens, "<|im_end|>") - large.tokens.begin());
  ASSERT_LT(end_of_turn, large.tokens.size());
  while (large.tokens.size() < 100'000) {
    large.tokens.push_back("<|unused_" + std::to_string(large.tokens.size()) + "|>");
    large.types.push_back(TokenType::kUnused);
  }
  std::swap(large.tokens[end_of_turn], large.tokens.back());
  std::swap(large.types[end_of_turn], large.types.back());
  const auto made = PrepareData(recipe, directory_, directory_, /*quiet=*/true, &large);
  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_EQ(std::ranges::count(made->corpus.ids, 99'999u), 1);
  EXPECT_EQ(made->corpus.ids.size(), small->corpus.ids.size());
}

// With mask_user only answers have a loss. A second call returns the stored corpus.
TEST_F(DatasetTest, MaskUserLimitsTheLossAndCorpusIsReused) {
  std::string chats;
  for (int i = 0; i < 50; ++i) {
    chats += R"({"conversations": [{"from": "human", "value": "question number )" +
             std::to_string(i) + R"("}, {"from": "gpt", "value": "answer"}]})" + "\n";
  }
  Write("chat.jsonl", chats);
  Recipe recipe;
  recipe.vocab = 300;
  recipe.mask_user = true;
  recipe.heldout = 0.2;
  recipe.data = {{"chat.jsonl", 1.0}};
  const auto made = PrepareData(recipe, directory_, directory_, /*quiet=*/true, nullptr);
  ASSERT_TRUE(made.ok()) << made.error().message;
  const auto tokenizer = Tokenizer::Create(made->tokenizer, "test");
  ASSERT_TRUE(tokenizer.ok());
  const CorpusDocument& d = made->corpus.documents[7];
  std::vector<Token> tokens_with_loss;
  int heldout = 0;
  for (int32_t i = 0; i < d.length; ++i) {
    if (made->corpus.learn[d.first + i] != 0) {
      tokens_with_loss.push_back(made->corpus.ids[d.first + i]);
    }
  }
  EXPECT_EQ((*tokenizer)->Decode(tokens_with_loss, /*show_control=*/true),
            "\n<|im_start|>assistant\nanswer<|im_end|>\n<|endoftext|>");
  for (const CorpusDocument& c : made->corpus.documents) heldout += c.heldout ? 1 : 0;
  EXPECT_GT(heldout, 0);
  EXPECT_LT(heldout, 25);
  const auto again = PrepareData(recipe, directory_, directory_, /*quiet=*/true, nullptr);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->corpus.ids, made->corpus.ids);
  EXPECT_EQ(again->corpus.learn, made->corpus.learn);
  EXPECT_EQ(again->tokenizer.merges, made->tokenizer.merges);
}

Corpus Documents(const std::vector<int32_t>& lengths) {
  Corpus corpus;
  for (const int32_t length : lengths) {
    CorpusDocument d;
    d.first = static_cast<int64_t>(corpus.ids.size());
    d.length = length;
    corpus.documents.push_back(d);
    corpus.ids.resize(corpus.ids.size() + length);
  }
  corpus.learn.assign(corpus.ids.size(), 1);
  return corpus;
}

// No token is an input twice, no sequence is too long, and inputs fill more than 95 % of the
// sequences.
TEST(PackingTest, PacksTokensAtMostOnceWithLittlePadding) {
  std::vector<int32_t> lengths;
  for (int i = 0; i < 500; ++i) lengths.push_back(2 + i * 37 % 150);
  lengths.push_back(1001);  // longer than a sequence: cut into pieces
  const Corpus corpus = Documents(lengths);
  Packer packer(corpus, {1.0}, 128, 5);
  ASSERT_FALSE(packer.empty());
  std::vector<int> uses(corpus.ids.size(), 0);
  int64_t inputs = 0;
  for (int64_t i = 0; i < packer.sequences_in_epoch(); ++i) {
    int64_t used = 0;
    for (const Piece& p : packer.At(i)) {
      for (int32_t t = 0; t < p.count; ++t) ++uses[p.first + t];
      used += p.count;
    }
    EXPECT_LE(used, 128);
    inputs += used;
  }
  for (size_t i = 0; i + 1001 < uses.size(); ++i) EXPECT_LE(uses[i], 1);
  EXPECT_EQ(std::accumulate(uses.begin(), uses.end(), int64_t{0}), inputs);
  EXPECT_GT(inputs, 0.95 * 128 * packer.sequences_in_epoch());
}

TEST(PackingTest, PiecesWithoutLossAreSkipped) {
  Corpus corpus = Documents({40, 40, 300, 2});
  corpus.learn.assign(corpus.ids.size(), 0);
  corpus.learn[60] = 1;  // in the second document
  // The last target of the third document's first piece, which is no target of its second.
  corpus.learn[80 + 128] = 1;
  corpus.learn[80 + 290] = 1;  // in the last piece of the third
  corpus.documents.push_back({0, 40, 0, /*heldout=*/true});
  Packer packer(corpus, {1.0}, 128, 5);
  ASSERT_FALSE(packer.empty());
  std::vector<int64_t> first_tokens;
  for (int64_t i = 0; i < packer.sequences_in_epoch(); ++i) {
    for (const Piece& p : packer.At(i)) first_tokens.push_back(p.first);
  }
  EXPECT_THAT(first_tokens, testing::UnorderedElementsAre(40, 80, 80 + 256));
  EXPECT_TRUE(packer.HeldOut().empty());
  corpus.learn.assign(corpus.ids.size(), 0);
  EXPECT_TRUE(Packer(corpus, {1.0}, 128, 5).empty());
}

// With a target length, pieces are cut from what the target reads at once.
TEST(PackingTest, PiecesSayWhatTheTargetReads) {
  const Corpus corpus = Documents({40, 901});
  Packer packer(corpus, {1.0}, 128, 5, /*target_length=*/300);
  ASSERT_FALSE(packer.empty());
  std::vector<std::array<int64_t, 4>> pieces;
  for (int64_t i = 0; i < packer.sequences_in_epoch(); ++i) {
    for (const Piece& p : packer.At(i))
      pieces.push_back({p.first, p.count, p.read_first, p.read_count});
  }
  using Row = std::array<int64_t, 4>;
  EXPECT_THAT(pieces, testing::UnorderedElementsAre(
                          Row{0, 39, 0, 39}, Row{40, 128, 40, 300}, Row{168, 128, 40, 300},
                          Row{296, 44, 40, 300}, Row{340, 128, 340, 300}, Row{468, 128, 340, 300},
                          Row{596, 44, 340, 300}, Row{640, 128, 640, 300}, Row{768, 128, 640, 300},
                          Row{896, 44, 640, 300}));
}

// Packer::At returns the same sequence whether or not earlier sequences were read.
TEST(PackingTest, AtDoesNotDependOnEarlierReads) {
  const Corpus corpus = Documents(std::vector<int32_t>(300, 40));
  Packer steady(corpus, {1.5}, 128, 5), jumping(corpus, {1.5}, 128, 5);
  const int64_t last = steady.empty() ? 0 : steady.sequences_in_epoch() * 5 / 2;
  Sequence reached;
  for (int64_t i = 0; i <= last; ++i) reached = steady.At(i);
  const Sequence& jumped = jumping.At(last);
  ASSERT_EQ(reached.size(), jumped.size());
  EXPECT_GT(steady.epoch(), 0);
  for (size_t i = 0; i < reached.size(); ++i) EXPECT_EQ(reached[i].first, jumped[i].first);
}

// ReadRecipe restores a recipe from RecipeToJson.
TEST(RecipeTest, ReadRestoresAWrittenRecipe) {
  Recipe recipe;
  recipe.lr = 0.0123;
  recipe.tied_embeddings = false;
  recipe.data = {{"a.txt", 0.5}};
  recipe.datasets = {"a: MIT"};
  Recipe restored;
  ASSERT_TRUE(ReadRecipe(RecipeToJson(recipe), "test", restored).ok());
  EXPECT_EQ(RecipeToJson(restored), RecipeToJson(recipe));
}

using RecipeMixTest = TemporaryFiles;

// A recipe takes data and datasets from the file that its field "mix" names.
TEST_F(RecipeMixTest, SuppliesDataAndDatasets) {
  const auto read = [&](const std::string& mix, const Json& json) {
    Write("mix.json", mix);
    Recipe recipe;
    const Status status = ReadRecipe(json, directory_ + "/r.json", recipe);
    if (!status.ok()) return status.error().message;
    const Json written = RecipeToJson(recipe);
    return written["data"].dump() + written["datasets"].dump();
  };
  const std::string mix = R"({"data": [{"files": "a", "weight": 2.0}], "datasets": ["a: MIT"]})";
  EXPECT_EQ(read(mix, {{"mix", "mix.json"}}), R"([{"files":"a","weight":2.0}]["a: MIT"])");
  EXPECT_THAT(read(mix, {{"mix", "none.json"}}), HasSubstr("/none.json"));
  EXPECT_THAT(read(mix, {{"mix", 5}}), HasSubstr("r.json: mix is not the name of a file"));
  EXPECT_THAT(read(mix, {{"mix", "mix.json"}, {"data", Json::array()}}), HasSubstr("beside them"));
  EXPECT_THAT(read(R"({"lr": 1})", {{"mix", "mix.json"}}), HasSubstr("mix.json: a mix has data"));
  EXPECT_THAT(read(R"({"datasets": [1]})", {{"mix", "mix.json"}}), HasSubstr("is not a string"));
}

// Unknown fields, malformed values and impossible sizes are errors.
TEST(RecipeTest, RejectsInvalidFields) {
  Recipe recipe;
  const Status unknown = ReadRecipe(Json{{"leyers", 3}}, "r.json", recipe);
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().message, "r.json: unknown field 'leyers'");
  EXPECT_FALSE(SetField("layers", "three", recipe).ok());
  recipe.kv_heads = 4;
  EXPECT_EQ(CheckRecipe(recipe).error().message, "heads is 6, expected a multiple of kv_heads, 4");
  Recipe odd_heads;
  odd_heads.head_dim = 7;
  EXPECT_THAT(CheckRecipe(odd_heads).error().message, HasSubstr("head_dim is 7, expected an even"));
  Recipe small_vocab;
  small_vocab.vocab = 259;  // too few for a new tokenizer, but valid for a target
  EXPECT_FALSE(CheckRecipe(small_vocab).ok());
  small_vocab.settings["target"] = "bytes.gguf";
  EXPECT_TRUE(CheckRecipe(small_vocab).ok());
}

TEST(RecipeTest, FlagsOutOfRangeAreErrors) {
  const std::pair<const char*, const char*> wrong[] = {
      {"lr", "nan"},           {"lr", "1e20"},       {"lr", "-0.1"},
      {"min_lr", "inf"},       {"beta1", "2"},       {"beta2", "1"},
      {"heldout", "-1"},       {"heldout", "1"},     {"threads", "-5"},
      {"device", "xyz"},       {"dtype", "f16"},     {"batch", "9223372036854775807"},
      {"batch", "0"},          {"steps", "1.5"},     {"clip", "-1"},
      {"weight_decay", "nan"}, {"warmup", "-1"},     {"accumulate", "99999999999999999999"},
      {"eval_every", "-1"},    {"schedule", "step"}, {"time_budget", "-5m"},
      {"time_budget", "nans"}, {"workers", "0"},     {"checkpoint_minutes", "-1"},
      {"epochs", "nan"},       {"norm_eps", "0"},    {"vocab", "0"},
      {"feature_cache", "-1"}, {"length", "1"},      {"mask_user", "yes"},
      {"optimizer", "sgd"}};
  for (const auto& [name, value] : wrong) {
    Recipe recipe;
    const Status status = SetField(name, value, recipe);
    ASSERT_FALSE(status.ok()) << name << " " << value;
    std::string flag = std::string("--") + name;
    std::ranges::replace(flag, '_', '-');
    EXPECT_THAT(status.error().message, HasSubstr(flag + " is '" + value + "', expected ")) << name;
    EXPECT_EQ(RecipeToJson(recipe), RecipeToJson(Recipe())) << name;
  }
  Recipe recipe;
  EXPECT_EQ(SetField("beta1", "2", recipe).error().message,
            "--beta1 is '2', expected a number of at least 0 and less than 1");
  EXPECT_EQ(SetField("device", "xyz", recipe).error().message,
            "--device is 'xyz', expected auto, cpu or cuda");
  recipe.batch = 65536;
  recipe.length = 1 << 20;
  EXPECT_THAT(CheckRecipe(recipe).error().message, HasSubstr("expected a product of at most"));
}

TEST(RecipeTest, FieldsOfWrongTypeOrRangeAreErrors) {
  const auto error = [](const std::string& text) {
    Recipe recipe;
    const auto json = ParseJson(text, "text");
    EXPECT_TRUE(json.ok()) << text;
    const Status status = ReadRecipe(*json, "r.json", recipe);
    return status.ok() ? "none" : status.error().message;
  };
  EXPECT_EQ(error(R"({"data": [{"files": "a", "wieght": 2}]})"),
            "r.json: data[0]: unknown field 'wieght', expected files and weight");
  EXPECT_EQ(error(R"({"data": [{"files": "a"}, {"files": "b", "weight": "0.01"}]})"),
            "r.json: data[1].weight is '\"0.01\"', expected a number from 0 to 10000");
  EXPECT_EQ(error(R"({"data": [{"files": "a", "weight": -1}]})"),
            "r.json: data[0].weight is '-1', expected a number from 0 to 10000");
  EXPECT_EQ(error(R"({"data": [{"weight": 1}]})"), "r.json: data[0]: has no string field 'files'");
  EXPECT_EQ(error(R"({"lr": "0.01"})"), "r.json: lr is '\"0.01\"', expected a number from 0 to 10");
  EXPECT_EQ(error(R"({"beta1": 2})"),
            "r.json: beta1 is '2', expected a number of at least 0 and less than 1");
  EXPECT_EQ(error(R"({"mask_user": 1})"), "r.json: mask_user is '1', expected true or false");
  EXPECT_EQ(error(R"({"name": 5})"), "r.json: name is '5', expected a string");
  EXPECT_EQ(error(R"({"lr": null})"), "r.json: lr is 'null', expected a number from 0 to 10");
  EXPECT_EQ(error(R"({"time_budget": "15m", "feature_cache": "1GiB", "lr": 1e-3})"), "none");
}

// Errors in the settings of a recipe file name that file.
TEST(RecipeTest, SettingErrorsNameTheFile) {
  const Setting table[] = {
      {.name = "steps_ahead", .value = "3", .range = Whole(1, 16), .help = ""}};
  const auto error = [&](const Json& settings) {
    Recipe recipe;
    recipe.method = "hass";
    EXPECT_TRUE(ReadRecipe(Json{{"settings", settings}}, "r.json", recipe).ok());
    const Status status = CheckSettings(table, "r.json", recipe);
    return status.ok() ? "none" : status.error().message;
  };
  EXPECT_EQ(error({{"steps_ahead", 0}}),
            "r.json: settings.steps_ahead is '0', expected a whole number from 1 to 16");
  EXPECT_EQ(error({{"steps_behind", 1}}),
            "r.json: settings.steps_behind: unknown setting of train hass");
  EXPECT_EQ(error({{"steps_ahead", 16}}), "none");
}

TEST(RecipeTest, ParsesDurations) {
  EXPECT_EQ(*ParseDuration("95m"), 5700.0);
  EXPECT_EQ(*ParseDuration("1h30m"), 5400.0);
  EXPECT_EQ(*ParseDuration("90"), 90.0);
  EXPECT_FALSE(ParseDuration("soon").ok());
  EXPECT_FALSE(ParseDuration("").ok());
  for (const char* text : {"1h35m", "1h30m", "2h5s", "2m", "1m30.5s", "40s", "0.25s", "0s"}) {
    EXPECT_EQ(DurationText(*ParseDuration(text)), text);
  }
}

TEST(RecipeTest, ParsesSizes) {
  EXPECT_EQ(*ParseSize("0"), 0);
  EXPECT_EQ(*ParseSize("4096"), 4096);
  EXPECT_EQ(*ParseSize("1.5KiB"), 1536);
  EXPECT_EQ(*ParseSize("20GiB"), int64_t{20} << 30);
  for (const char* wrong : {"", "much", "20GB", "GiB", "-1MiB", "20 GiB", "nan", "1e30TiB"}) {
    EXPECT_FALSE(ParseSize(wrong).ok()) << wrong;
  }
  Recipe recipe;
  ASSERT_TRUE(SetField("feature_cache", "2MiB", recipe).ok());
  EXPECT_EQ(recipe.feature_cache, 2 << 20);
  Recipe copy;
  ASSERT_TRUE(ReadRecipe(RecipeToJson(recipe), "r.json", copy).ok());
  EXPECT_EQ(copy.feature_cache, 2 << 20);
  EXPECT_EQ(Recipe().feature_cache, 0);
}

// The test vectors of RFC 3720, B.4.
TEST(EventLogTest, Crc32cVectors) {
  EXPECT_EQ(Crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(Crc32c(std::string(32, '\xff')), 0x62a8ab43u);
  EXPECT_EQ(Crc32c("123456789"), 0xe3069283u);
}

TEST(EventLogTest, WritesTensorBoardRecords) {
  // The first record of every event file holds 24 bytes of data; it begins with that length and the
  // length's checksum.
  EXPECT_EQ(TensorBoardRecord(std::string(24, 'x')).substr(0, 12),
            std::string("\x18\0\0\0\0\0\0\0\xa3\x7fK\"", 12));
  const std::string event = ScalarEvent(0.0, 300, {{"x", 1.0}});
  EXPECT_EQ(event, std::string("\x09\0\0\0\0\0\0\0\0\x10\xac\x02\x2a\x0a\x0a\x08\x0a\x01x\x15\0\0"
                               "\x80\x3f",
                               24));
  const std::string record = TensorBoardRecord("abc");
  ASSERT_EQ(record.size(), 8u + 4 + 3 + 4);
  EXPECT_EQ(record.substr(0, 8), std::string("\x03\0\0\0\0\0\0\0", 8));
  EXPECT_EQ(record.substr(12, 3), "abc");
  uint32_t crc = 0;
  std::memcpy(&crc, record.data() + 15, sizeof(crc));
  EXPECT_EQ(crc, MaskedCrc32c("abc"));
}

using EventLogFiles = TemporaryFiles;

// Open drops the lines of steps after the checkpoint; a value that is not finite becomes null.
TEST_F(EventLogFiles, ContinuesAfterTheCheckpoint) {
  {
    EventLog log;
    ASSERT_TRUE(log.Open(directory_, 0).ok());
    for (int64_t step = 1; step <= 5; ++step) log.Write(step, {{"loss", 1.0 / step}});
  }
  {
    EventLog log;
    ASSERT_TRUE(log.Open(directory_, 3).ok());
    log.Write(4, {{"loss", std::nan("")}});
  }
  std::ifstream in(directory_ + "/log.jsonl");
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  EXPECT_THAT(lines, ElementsAre(R"({"step":1,"loss":1.0})", R"({"step":2,"loss":0.5})",
                                 HasSubstr("\"step\":3,"), R"({"step":4,"loss":null})"));
}

// Complete damaged lines are kept and reported, and an incomplete last line is dropped.
TEST_F(EventLogFiles, DamagedLinesAreKeptAndReported) {
  const std::string kept =
      "{\"step\":1,\"loss\":9}\n\x07garbage{\n{\"step\":\"two\"}\n[4]\n{\"step\":3,\"loss\":7}\n";
  const std::string path = Write("log.jsonl", kept + "{\"step\":4,\"loss\":6}\n{\"step\":5,\"lo");
  testing::internal::CaptureStderr();
  {
    EventLog log;
    ASSERT_TRUE(log.Open(directory_, 3).ok());
  }
  const std::string warnings = testing::internal::GetCapturedStderr();
  for (const char* line : {":2: ", ":3: ", ":4: "}) {
    EXPECT_THAT(warnings,
                HasSubstr(path + line + "does not record a training step; the line is kept"));
  }
  std::ifstream in(path);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), kept);
}

// A log that exists but cannot be opened, here a link to itself, is an error and is not replaced.
TEST_F(EventLogFiles, UnreadableLogIsNotReplaced) {
  const std::string path = directory_ + "/log.jsonl";
  std::filesystem::create_symlink("log.jsonl", path);
  EventLog log;
  const Status opened = log.Open(directory_, 0);
  ASSERT_FALSE(opened.ok());
  EXPECT_THAT(opened.error().message, HasSubstr(path + ": cannot open"));
  EXPECT_TRUE(std::filesystem::is_symlink(path));
}

TEST(RecipeTest, RecordHoldsNoLocalPaths) {
  Recipe recipe;
  recipe.settings["target"] = "/home/me/model.gguf";
  recipe.data = {{"/home/me/chats/my.jsonl", 1.0}, {"/home/me/texts/", 0.5}, {"plain.txt", 1.0}};
  const Json record = RecipeRecord(recipe);
  EXPECT_EQ(record["data"][0]["files"], "my.jsonl");
  EXPECT_EQ(record["data"][1]["files"], "texts");
  EXPECT_EQ(record["data"][2]["files"], "plain.txt");
  EXPECT_EQ(JsonText(record).find("/home"), std::string::npos);
}

}  // namespace
}  // namespace foretoken::train
