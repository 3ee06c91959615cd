#include "text/byte_bpe.h"

#include <array>
#include <unordered_map>

#include "text/byte_map.h"
#include "text/merge_list.h"
#include "text/pre_tokenizer.h"
#include "text/word_cache.h"

namespace foretoken {
namespace {

// The parts of the scheme that are derived from the data.
struct ByteBpeParts {
  PreTokenizer pre_tokenizer;
  MergeTable merges;
  std::array<Token, 256> byte_tokens;
  std::unordered_map<std::string, Token> whole;  // token by bytes; filled only with ignore_merges
};

class ByteBpe final : public Tokenizer {
 public:
  ByteBpe(TokenizerData data, ByteBpeParts parts)
      : Tokenizer(std::move(data)), parts_(std::move(parts)) {
    BuildPieces();
  }

 private:
  class Encoder final : public StretchEncoder {
   public:
    Encoder(const ByteBpe& scheme, size_t text_bytes)
        : scheme_(scheme), splitter_(scheme.parts_.pre_tokenizer), cache_(text_bytes) {}

    void Encode(std::string_view stretch, bool /*prefix*/, std::vector<Token>& out) override {
      splitter_.Split(stretch, [&](std::string_view word) {
        cache_.Append(word, out, [&](std::string_view w, std::vector<Token>& o) {
          scheme_.EncodeWord(w, symbols_, o);
        });
      });
    }

   private:
    const ByteBpe& scheme_;
    PreTokenizer::Splitter splitter_;
    WordCache cache_;
    std::vector<Token> symbols_;
  };

  std::unique_ptr<StretchEncoder> NewEncoder(size_t text_bytes) const override {
    return std::make_unique<Encoder>(*this, text_bytes);
  }

  std::string NormalPiece(std::string_view stored) const override { return UnmapBytes(stored); }

  void EncodeWord(std::string_view word, std::vector<Token>& symbols,
                  std::vector<Token>& out) const {
    if (data_.ignore_merges) {
      const auto found = parts_.whole.find(std::string(word));
      if (found != parts_.whole.end()) return out.push_back(found->second);
    }
    symbols.clear();
    for (const char c : word) symbols.push_back(parts_.byte_tokens[static_cast<uint8_t>(c)]);
    parts_.merges.Apply(symbols);
    for (const Token symbol : symbols) {
      const Token token = symbol == kNoToken ? data_.unknown : symbol;
      if (token != kNoToken) out.push_back(token);
    }
  }

  ByteBpeParts parts_;
};

Result<PreTokenizer> MakePreTokenizer(const TokenizerData& data) {
  if (!data.pre_pattern.empty()) return PreTokenizer::ForPatterns(data.pre_pattern);
  return PreTokenizer::ForName(data.pre);
}

std::array<Token, 256> ByteTokens(const IdsByText& ids) {
  std::array<Token, 256> tokens;
  for (int byte = 0; byte < 256; ++byte) {
    const auto found = ids.find(MappedByte(static_cast<uint8_t>(byte)));
    tokens[byte] = found == ids.end() ? kNoToken : found->second;
  }
  return tokens;
}

std::unordered_map<std::string, Token> WholeWords(const TokenizerData& data) {
  std::unordered_map<std::string, Token> whole;
  for (size_t i = 0; i < data.tokens.size(); ++i) {
    if (data.types[i] != TokenType::kNormal) continue;
    whole.emplace(UnmapBytes(data.tokens[i]), static_cast<Token>(i));
  }
  return whole;
}

}  // namespace

Result<std::shared_ptr<const Tokenizer>> NewByteBpe(TokenizerData data, std::string_view origin) {
  Result<PreTokenizer> pre_tokenizer = MakePreTokenizer(data);
  if (!pre_tokenizer) return Error{std::string(origin) + ": " + pre_tokenizer.error().message};
  const PreTokenizerRules* rules = FindPreTokenizerRules(data.pre);
  if (rules != nullptr && data.pre_pattern.empty()) data.ignore_merges |= rules->ignore_merges;

  const IdsByText ids = MapIdsByText(data);
  FT_ASSIGN_OR_RETURN(MergeTable merges, ReadMerges(data, ids, origin));
  ByteBpeParts parts = {*std::move(pre_tokenizer), std::move(merges), ByteTokens(ids), {}};
  if (data.ignore_merges) parts.whole = WholeWords(data);
  return std::shared_ptr<const Tokenizer>(
      std::make_shared<ByteBpe>(std::move(data), std::move(parts)));
}

}  // namespace foretoken
