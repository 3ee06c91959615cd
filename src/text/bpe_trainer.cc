#include "text/bpe_trainer.h"

#include <algorithm>
#include <queue>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "text/byte_map.h"
#include "text/pre_tokenizer.h"

namespace foretoken {
namespace {

struct Pair {
  Token left, right;
  bool operator==(const Pair&) const = default;
};

struct PairHash {
  size_t operator()(const Pair& pair) const {
    uint64_t key =
        uint64_t{static_cast<uint32_t>(pair.left)} << 32 | static_cast<uint32_t>(pair.right);
    key *= 0x9E3779B97F4A7C15ull;
    return key ^ key >> 32;
  }
};

// A distinct pre-token: its symbols so far and how often it occurs.
struct Word {
  std::vector<Token> symbols;
  int64_t count;
};

struct PairPlaces {
  int64_t count = 0;
  std::vector<uint32_t> words;  // words that hold or held the pair; may repeat
};

struct PairCount {
  int64_t count;
  Pair pair;
  bool operator<(const PairCount& other) const {  // the greatest is at the top of the queue
    return std::tuple(count, other.pair.left, other.pair.right) <
           std::tuple(other.count, pair.left, pair.right);
  }
};

// The distinct words in order of first appearance, so that results do not depend on the order of a
// hash table.
std::vector<Word> CountWords(std::span<const std::string_view> documents,
                             const PreTokenizer& pre_tokenizer, Token first_byte) {
  std::unordered_map<std::string_view, uint32_t> index;
  std::vector<Word> words;
  PreTokenizer::Splitter splitter(pre_tokenizer);
  for (const std::string_view document : documents) {
    splitter.Split(document, [&](std::string_view text) {
      const auto [found, is_new] = index.emplace(text, static_cast<uint32_t>(words.size()));
      if (!is_new) {
        ++words[found->second].count;
        return;
      }
      words.push_back({{}, 1});
      words.back().symbols.reserve(text.size());
      for (const char c : text)
        words.back().symbols.push_back(first_byte + static_cast<uint8_t>(c));
    });
  }
  return words;
}

class BpeTrainer {
 public:
  BpeTrainer(TokenizerData data, std::vector<Word> words, int64_t min_frequency)
      : data_(std::move(data)), words_(std::move(words)), min_frequency_(min_frequency) {
    for (size_t i = 0; i < data_.tokens.size(); ++i) {
      ids_.emplace(data_.tokens[i], static_cast<Token>(i));
    }
    for (uint32_t w = 0; w < words_.size(); ++w) {
      const std::vector<Token>& symbols = words_[w].symbols;
      for (size_t i = 0; i + 1 < symbols.size(); ++i) Count({symbols[i], symbols[i + 1]}, w);
    }
    for (const auto& [pair, places] : pairs_) queue_.push({places.count, pair});
  }

  TokenizerData Train(size_t vocab_size) {
    while (data_.tokens.size() < vocab_size && !queue_.empty()) {
      const PairCount top = queue_.top();
      queue_.pop();
      const auto found = pairs_.find(top.pair);
      const int64_t count = found == pairs_.end() ? 0 : found->second.count;
      if (count < std::max<int64_t>(min_frequency_, 1)) continue;
      if (count != top.count) {
        queue_.push({count, top.pair});
        continue;
      }
      Merge(top.pair);
    }
    return std::move(data_);
  }

 private:
  void Count(Pair pair, uint32_t word) {
    PairPlaces& places = pairs_[pair];
    places.count += words_[word].count;
    if (places.words.empty() || places.words.back() != word) places.words.push_back(word);
  }

  void Uncount(Pair pair, uint32_t word) { pairs_[pair].count -= words_[word].count; }

  Token AddToken(Pair pair) {
    const std::string &left = data_.tokens[pair.left], &right = data_.tokens[pair.right];
    data_.merges.push_back(left + " " + right);
    const std::string joined = left + right;
    const auto [found, is_new] = ids_.emplace(joined, static_cast<Token>(data_.tokens.size()));
    if (is_new) {
      data_.tokens.push_back(joined);
      data_.types.push_back(TokenType::kNormal);
    }
    return found->second;
  }

  void Merge(Pair pair) {
    const Token merged = AddToken(pair);
    const std::vector<uint32_t> places = std::move(pairs_[pair].words);
    pairs_[pair].words.clear();
    fresh_.clear();
    for (const uint32_t word : places) MergeInWord(pair, merged, word);
    pairs_.erase(pair);
    for (const Pair& made : fresh_) {
      const auto found = pairs_.find(made);
      if (found != pairs_.end()) queue_.push({found->second.count, made});
    }
  }

  // Merges `pair` in a word and updates the counts of its pairs. Changes nothing if the word was
  // listed twice and is merged already.
  void MergeInWord(Pair pair, Token merged, uint32_t word) {
    std::vector<Token>& symbols = words_[word].symbols;
    size_t kept = 0;
    for (size_t i = 0; i < symbols.size(); ++i) {
      const bool here =
          i + 1 < symbols.size() && symbols[i] == pair.left && symbols[i + 1] == pair.right;
      if (!here) {
        symbols[kept++] = symbols[i];
        continue;
      }
      if (kept > 0) Replace({symbols[kept - 1], pair.left}, {symbols[kept - 1], merged}, word);
      Uncount(pair, word);
      if (i + 2 < symbols.size()) {
        Replace({pair.right, symbols[i + 2]}, {merged, symbols[i + 2]}, word);
      }
      symbols[kept++] = merged;
      ++i;
    }
    symbols.resize(kept);
  }

  void Replace(Pair before, Pair after, uint32_t word) {
    Uncount(before, word);
    Count(after, word);
    if (fresh_.empty() || !(fresh_.back() == after)) fresh_.push_back(after);
  }

  TokenizerData data_;
  std::vector<Word> words_;
  int64_t min_frequency_;
  std::unordered_map<std::string, Token> ids_;
  std::unordered_map<Pair, PairPlaces, PairHash> pairs_;
  std::priority_queue<PairCount> queue_;
  std::vector<Pair> fresh_;  // pairs that the current merge made
};

Result<TokenizerData> StartVocabulary(const BpeTrainerOptions& options) {
  const size_t least = options.special_tokens.size() + 256;
  if (options.vocab_size < static_cast<int64_t>(least)) {
    return Error{"BPE training: a vocabulary of " + std::to_string(options.vocab_size) +
                 " is too small; special tokens and bytes alone need " + std::to_string(least)};
  }
  TokenizerData data;
  data.kind = TokenizerKind::kByteBpe;
  data.pre = options.pre;
  std::unordered_set<std::string_view> seen;
  for (const std::string& special : options.special_tokens) {
    if (special.empty() || !seen.insert(special).second) {
      return Error{"BPE training: special token '" + special + "' is empty or given twice"};
    }
    data.tokens.push_back(special);
    data.types.push_back(TokenType::kControl);
  }
  for (int byte = 0; byte < 256; ++byte) {
    data.tokens.emplace_back(MappedByte(static_cast<uint8_t>(byte)));
    data.types.push_back(TokenType::kNormal);
  }
  return data;
}

}  // namespace

Result<TokenizerData> TrainByteBpe(std::span<const std::string_view> documents,
                                   const BpeTrainerOptions& options) {
  FT_ASSIGN_OR_RETURN(PreTokenizer pre_tokenizer, PreTokenizer::ForName(options.pre));
  FT_ASSIGN_OR_RETURN(TokenizerData data, StartVocabulary(options));
  const Token first_byte = static_cast<Token>(options.special_tokens.size());
  std::vector<Word> words = CountWords(documents, pre_tokenizer, first_byte);
  BpeTrainer trainer(std::move(data), std::move(words), options.min_frequency);
  return trainer.Train(static_cast<size_t>(options.vocab_size));
}

}  // namespace foretoken
