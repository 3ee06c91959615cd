// Tests of REST: the datastore, its continuations and the drafter.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/hash.h"
#include "base/json.h"
#include "base/rng.h"
#include "draft/conversation_testing.h"
#include "draft/rest/continuation_trie.h"
#include "draft/rest/datastore.h"
#include "draft/target_fixture_testing.h"

namespace foretoken {
namespace {

using ::testing::HasSubstr;
using Words = std::vector<Token>;

std::string Encoded(const std::vector<Words>& documents, int vocab = 12) {
  return *EncodeDatastore(documents, vocab, 7);
}

Result<Datastore> Parsed(const std::string& file) {
  return Datastore::Parse(std::as_bytes(std::span(file)), "store");
}

Words After(const Datastore& store, int64_t rank, size_t skip, size_t most) {
  Words words(most);
  words.resize(static_cast<size_t>(store.CopyAfter(rank, static_cast<int>(skip), words)));
  return words;
}

// Every continuation of `words`, found by a scan.
std::vector<Words> Scan(const std::vector<Words>& documents, const Words& words, size_t most) {
  std::vector<Words> found;
  for (const Words& d : documents) {
    for (auto at = std::search(d.begin(), d.end(), words.begin(), words.end()); at != d.end();
         at = std::search(at + 1, d.end(), words.begin(), words.end())) {
      const auto begin = at + std::ssize(words);
      found.emplace_back(begin, begin + std::min<std::ptrdiff_t>(
                                            d.end() - begin, static_cast<std::ptrdiff_t>(most)));
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

TEST(Datastore, FindsWhatAScanFinds) {
  for (const int vocab : {5, 0x10000}) {
    std::vector<Words> documents;
    for (uint64_t d = 0; d < 7; ++d) {
      Words& text = documents.emplace_back();
      for (uint64_t i = 0; i < 40 * d; ++i) {
        const auto word = static_cast<Token>(Mix(d * 1000 + i) % 5);
        text.push_back(vocab > 5 && word == 4 ? vocab - 1 : word);
      }
    }
    const std::string file = Encoded(documents, vocab);
    const Datastore store = *Parsed(file);
    EXPECT_EQ(store.size(), 40 * 21 + 7);
    for (uint64_t i = 0; i < 300; ++i) {
      Words words;
      for (uint64_t n = 0; n <= i % 4; ++n) {
        words.push_back(static_cast<Token>(Mix(77 + i * 10 + n) % 5));
      }
      const Datastore::Range range = store.Find(words);
      std::vector<Words> found;
      for (int64_t r = range.first; r < range.first + range.count; ++r) {
        found.push_back(After(store, r, words.size(), 3));
      }
      std::sort(found.begin(), found.end());
      ASSERT_EQ(found, Scan(documents, words, 3));
    }
    EXPECT_EQ(store.Find(Words{vocab}).count, 0);
    EXPECT_EQ(store.Find(Words{-1}).count, 0);
  }
}

// Encoded datastores equal the fuzzer's seeds, which an independent program wrote from the
// documentation of the format.
TEST(Datastore, MatchesTheDocumentedFormat) {
  const std::string folder = std::string(FT_SOURCE_DIR) + "/tests/fuzz/rest/datastore/";
  const std::vector<Words> texts{{1, 2, 3, 1, 2, 4}, {2, 3, 1}, {}};
  for (const auto& [name, documents, vocab] :
       {std::tuple("two_bytes", texts, 12), std::tuple("four_bytes", texts, 70000),
        std::tuple("empty", std::vector<Words>{}, 12)}) {
    const MappedFile file = *MappedFile::Open(folder + name);
    EXPECT_EQ(file.text(), Encoded(documents, vocab)) << name;
    EXPECT_TRUE(Datastore::Open(folder + name).ok());
  }
}

// `file` with the bytes at offset `at` replaced by `value`, and with a matching checksum.
template <typename Number>
std::string Changed(std::string file, size_t at, Number value) {
  std::memcpy(file.data() + at, &value, sizeof value);
  const uint64_t sum = HashBytes(std::as_bytes(std::span(file)).subspan(kDatastoreHeader));
  std::memcpy(file.data() + 32, &sum, sizeof sum);
  return file;
}

TEST(Datastore, EveryCorruptFieldIsNamed) {
  const std::string file = Encoded({{1, 2, 3}, {4, 5}});
  const auto message = [](const std::string& bytes) { return Parsed(bytes).error().message; };
  EXPECT_THAT(message(""), HasSubstr("store: magic"));
  EXPECT_THAT(message("x" + file.substr(1)), HasSubstr("store: magic"));
  EXPECT_THAT(message(Changed<uint32_t>(file, 8, 4)),
              HasSubstr("token_bytes: found 4, expected 2"));
  EXPECT_THAT(message(Changed<uint32_t>(file, 12, 0)), HasSubstr("vocab: found 0"));
  EXPECT_THAT(message(Changed<uint32_t>(file, 12, 0x80000000)), HasSubstr("vocab: found"));
  EXPECT_THAT(message(Changed<uint64_t>(file, 16, 8)), HasSubstr("file size: found"));
  EXPECT_THAT(message(Changed<uint64_t>(file, 16, uint64_t{1} << 63)), HasSubstr("tokens: found"));
  EXPECT_THAT(message(file.substr(0, file.size() - 1)), HasSubstr("file size"));
  EXPECT_THAT(message(file + "x"), HasSubstr("file size"));
  EXPECT_THAT(message(Changed<uint16_t>(file, 42, 0x0c00)), HasSubstr("token 1: found 12"));
  EXPECT_THAT(message(Changed<uint32_t>(file, file.size() - 4, 7)),
              HasSubstr("suffix 6: found 7, expected less than 7"));
  for (size_t at = 32; at < file.size(); ++at) {
    std::string flipped = file;
    flipped[at] = static_cast<char>(flipped[at] ^ 1);
    EXPECT_THAT(message(flipped), HasSubstr("checksum")) << at;
  }
}

TEST(ContinuationTrie, KeepsTheMostFrequentBeginnings) {
  ContinuationTrie trie;
  for (const Words& words : std::vector<Words>{{1, 2}, {1, 2}, {1, 3}, {4}, {5, 6}, {5, 6}}) {
    trie.Add(words);
  }
  EXPECT_EQ(trie.continuations(), 6);
  const auto shown = [&trie](int most) {
    std::vector<std::vector<int>> items;
    for (const auto& i : trie.MostFrequent(most)) items.push_back({i.token, i.parent, i.count});
    return items;
  };
  EXPECT_EQ(shown(100), (std::vector<std::vector<int>>{
                            {1, -1, 3}, {2, 0, 2}, {3, 0, 1}, {4, -1, 1}, {5, -1, 2}, {6, 4, 2}}));
  EXPECT_EQ(shown(4),
            (std::vector<std::vector<int>>{{1, -1, 3}, {2, 0, 2}, {5, -1, 2}, {6, 2, 2}}));
  EXPECT_EQ(shown(1), (std::vector<std::vector<int>>{{1, -1, 3}}));
  trie.Add(Words{7, 8, 9});
  trie.Add(Words{7, 8, 2, 6});
  EXPECT_EQ(shown(100).back(), (std::vector<int>{6, 9, 1}));
  EXPECT_EQ(shown(100)[9], (std::vector<int>{2, 7, 1})) << "below 7 8";
}

class RestDrafts : public TargetFixture {
 protected:
  RestDrafts() : TargetFixture(TestConfig({.vocab = 12})) {}

  Result<std::unique_ptr<Drafter>> New(Json options) {
    options["datastore"] = folder_ / "store";
    return Build("rest", options);
  }
  void Store(const std::vector<Words>& documents) {
    folder_.Write("store",
                  *EncodeDatastore(documents, 12, VocabularyFingerprint(tokenizer_->data())));
  }
};

TEST_F(RestDrafts, OffersContinuationsOfTheLongestSuffix) {
  Store({{1, 2, 3, 4}, {1, 2, 3, 4}, {1, 2, 5}, {9, 2, 6}, {0, 1, 2, 7}});
  const auto drafter = *New({});
  Conversation talk(*drafter);
  talk.Prompt(Words{8, 1, 2});
  const CandidateTree tree = talk.Propose();
  EXPECT_EQ(Shown(tree), "0:3 0:5 0:7 1:4") << "'1 2' is found, so '2' alone is not searched for";
  EXPECT_FLOAT_EQ(tree.score(1), std::log(0.5f));
  EXPECT_FLOAT_EQ(tree.score(2), std::log(0.25f));
  EXPECT_FLOAT_EQ(tree.score(4), std::log(0.5f)) << "4 always follows 3";
  talk.Prompt(Words{8, 0, 1, 2});
  EXPECT_EQ(Shown(talk.Propose()), "0:7");
  talk.Prompt(Words{1, 2, 11});
  EXPECT_EQ(talk.Propose().size(), 1) << "no match, no draft";
}

TEST_F(RestDrafts, OptionsLimitTheTrie) {
  Store({{1, 2, 3, 4}, {1, 2, 3, 4}, {1, 2, 5}, {9, 2, 6}});
  const auto proposed = [this](const Json& options) {
    const auto drafter = *New(options);
    Conversation talk(*drafter);
    talk.Prompt(Words{8, 1, 2});
    return Shown(talk.Propose());
  };
  EXPECT_EQ(proposed({{"cont", 1}}), "0:3 0:5");
  EXPECT_EQ(proposed({{"tree", 1}}), "0:3");
  EXPECT_EQ(proposed({{"matches", 1}}), "0:3 1:4");
  EXPECT_EQ(proposed({{"max_suffix", 1}, {"min_suffix", 1}}), "0:3 0:5 0:6 1:4");
  EXPECT_EQ(proposed({{"min_suffix", 3}}), "");
  Store({{1, 2, 3}, {1, 2, 3}, {1, 2, 3}, {1, 2, 5}, {1, 2, 5}, {1, 2, 6}});
  EXPECT_EQ(proposed({{"matches", 2}}), "0:3 0:5") << "evenly spaced occurrences";
}

TEST_F(RestDrafts, RefusesAnotherModelsDatastore) {
  folder_.Write("store", Encoded({{1, 2}}));
  EXPECT_THAT(New({}).error().message, HasSubstr("vocabulary: found another model's"));
  folder_.Write("store", Encoded({{1, 2}}, 13));
  EXPECT_THAT(New({}).error().message,
              HasSubstr("vocab: found 13, expected at most the model's 12"));
}

}  // namespace
}  // namespace foretoken
