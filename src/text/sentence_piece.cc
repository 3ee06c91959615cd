#include "text/sentence_piece.h"

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <unordered_map>

#include "base/utf8.h"
#include "text/merge_list.h"
#include "text/space_mark.h"
#include "text/word_cache.h"

namespace foretoken {
namespace {

// "Characters" from here on are bytes that are not UTF-8.
constexpr uint32_t kInvalidBytes = 0x110000;

// A character that occurs in no piece is represented by a symbol that never merges.
Token LoneSymbol(uint32_t character) { return -2 - static_cast<Token>(character); }
uint32_t LoneCharacter(Token symbol) { return static_cast<uint32_t>(-2 - symbol); }

// The first character of `text`: its length in bytes and its code point.
std::pair<size_t, uint32_t> FirstCharacter(std::string_view text) {
  const size_t n = Utf8SequenceLength(text);
  if (n == 0) return {1, kInvalidBytes + static_cast<uint8_t>(text[0])};
  return {n, DecodeUtf8(text.substr(0, n))};
}

std::string CharacterBytes(uint32_t character) {
  if (character >= kInvalidBytes)
    return std::string(1, static_cast<char>(character - kInvalidBytes));
  std::string bytes;
  AppendUtf8(character, bytes);
  return bytes;
}

bool MayMerge(TokenType type) {
  return type == TokenType::kNormal || type == TokenType::kUserDefined ||
         type == TokenType::kUnused;
}

// The parts of the scheme that are derived from the data. Symbols below the vocabulary's size are
// tokens; those above are characters that occur inside pieces but are not pieces themselves.
struct Parts {
  MergeTable merges;
  std::unordered_map<uint32_t, Token> characters;  // symbol of each character of a piece
  std::vector<uint32_t> extra;  // characters of the symbols beyond the vocabulary
  std::array<Token, 256> byte_tokens;
  bool words_are_separate = true;  // no piece has a space after a character other than a space
};

class SentencePiece final : public Tokenizer {
 public:
  SentencePiece(TokenizerData data, Parts parts)
      : Tokenizer(std::move(data)), parts_(std::move(parts)) {
    BuildPieces();
  }

 private:
  class Encoder final : public StretchEncoder {
   public:
    Encoder(const SentencePiece& scheme, size_t text_bytes) : scheme_(scheme), cache_(text_bytes) {}

    void Encode(std::string_view stretch, bool prefix, std::vector<Token>& out) override {
      std::string_view rest = Escape(stretch, prefix);
      while (!rest.empty()) {
        const size_t n = scheme_.parts_.words_are_separate ? WordLength(rest) : rest.size();
        cache_.Append(rest.substr(0, n), out, [&](std::string_view word, std::vector<Token>& o) {
          scheme_.EncodeWord(word, symbols_, o);
        });
        rest.remove_prefix(n);
      }
    }

   private:
    // The stretch with marks for spaces, stored because the cache refers to it.
    std::string_view Escape(std::string_view stretch, bool prefix) {
      const TokenizerData& data = scheme_.data_;
      std::string& escaped = escaped_.emplace_back();
      escaped.reserve(stretch.size() + stretch.size() / 2 + kSpaceMark.size());
      const bool doubled = stretch.starts_with(' ');
      if (prefix && data.add_space_prefix && (data.prefix_doubles_space || !doubled)) {
        escaped += kSpaceMark;
      }
      for (const char c : stretch) {
        if (c == ' ') {
          escaped += kSpaceMark;
        } else {
          escaped += c;
        }
      }
      return escaped;
    }

    const SentencePiece& scheme_;
    WordCache cache_;
    std::vector<Token> symbols_;
    std::deque<std::string> escaped_;
  };

  std::unique_ptr<StretchEncoder> NewEncoder(size_t text_bytes) const override {
    return std::make_unique<Encoder>(*this, text_bytes);
  }

  std::string NormalPiece(std::string_view stored) const override { return UnmarkSpaces(stored); }

  // Bytes up to the next space that follows a character other than a space.
  static size_t WordLength(std::string_view text) {
    size_t i = 0;
    while (text.substr(i).starts_with(kSpaceMark)) i += kSpaceMark.size();
    return std::min(text.find(kSpaceMark, i), text.size());
  }

  void EncodeWord(std::string_view word, std::vector<Token>& symbols,
                  std::vector<Token>& out) const {
    symbols.clear();
    while (!word.empty()) {
      const auto [n, character] = FirstCharacter(word);
      const auto found = parts_.characters.find(character);
      symbols.push_back(found == parts_.characters.end() ? LoneSymbol(character) : found->second);
      word.remove_prefix(n);
    }
    parts_.merges.Apply(symbols);
    for (const Token symbol : symbols) AppendSymbol(symbol, out);
  }

  void AppendSymbol(Token symbol, std::vector<Token>& out) const {
    if (symbol >= 0 && symbol < vocab_size()) return out.push_back(symbol);
    const uint32_t character =
        symbol < 0 ? LoneCharacter(symbol) : parts_.extra[symbol - vocab_size()];
    const std::string bytes = CharacterBytes(character);
    const auto token_of = [&](char c) { return parts_.byte_tokens[static_cast<uint8_t>(c)]; };
    if (std::ranges::any_of(bytes, [&](char c) { return token_of(c) == kNoToken; })) {
      if (data_.unknown != kNoToken) out.push_back(data_.unknown);
      return;
    }
    for (const char c : bytes) out.push_back(token_of(c));
  }

  Parts parts_;
};

std::array<Token, 256> ByteTokens(const TokenizerData& data) {
  std::unordered_map<std::string_view, Token> ids;
  for (size_t i = 0; i < data.tokens.size(); ++i) {
    if (data.types[i] == TokenType::kByte) ids.emplace(data.tokens[i], static_cast<Token>(i));
  }
  std::array<Token, 256> tokens;
  for (int byte = 0; byte < 256; ++byte) {
    constexpr char kDigits[] = "0123456789ABCDEF";
    const char name[] = {'<', '0', 'x', kDigits[byte / 16], kDigits[byte % 16], '>'};
    const auto found = ids.find(std::string_view(name, sizeof(name)));
    tokens[byte] = found == ids.end() ? kNoToken : found->second;
  }
  return tokens;
}

bool HasSpaceAfterOther(std::string_view piece) {
  while (piece.starts_with(kSpaceMark)) piece.remove_prefix(kSpaceMark.size());
  return piece.find(kSpaceMark) != std::string_view::npos;
}

// Assigns a symbol to every character of `piece`: its token, or one beyond the vocabulary.
void AddCharacters(std::string_view piece, const IdsByText& ids, Token vocab, Parts& parts) {
  while (!piece.empty()) {
    const auto [n, character] = FirstCharacter(piece);
    if (!parts.characters.contains(character)) {
      const auto found = ids.find(piece.substr(0, n));
      const Token next = vocab + static_cast<Token>(parts.extra.size());
      parts.characters[character] = found == ids.end() ? next : found->second;
      if (found == ids.end()) parts.extra.push_back(character);
    }
    piece.remove_prefix(n);
  }
}

// The symbol that part of a piece may become while merging: a token, or a single character.
Token SymbolOf(std::string_view text, const IdsByText& ids, const Parts& parts) {
  const auto found = ids.find(text);
  if (found != ids.end()) return found->second;
  const auto [n, character] = FirstCharacter(text);
  return n == text.size() ? parts.characters.at(character) : kNoToken;
}

// Adds every split of `piece` into two symbols as a merge with the piece's own rank.
void AddSplits(std::string_view piece, MergeTable::Merge merge, const IdsByText& ids,
               Parts& parts) {
  for (size_t at = FirstCharacter(piece).first; at < piece.size();
       at += FirstCharacter(piece.substr(at)).first) {
    const Token left = SymbolOf(piece.substr(0, at), ids, parts);
    const Token right = SymbolOf(piece.substr(at), ids, parts);
    if (left != kNoToken && right != kNoToken) parts.merges.Add(left, right, merge);
  }
}

// Scores as ranks: the highest has rank 0, equal scores have equal ranks.
std::map<float, int32_t, std::greater<>> RanksOf(const std::vector<float>& scores) {
  std::map<float, int32_t, std::greater<>> ranks;
  for (const float score : scores) ranks.emplace(score, 0);
  int32_t next = 0;
  for (auto& [score, rank] : ranks) rank = next++;
  return ranks;
}

IdsByText MergeableIds(const TokenizerData& data) {
  IdsByText ids;
  for (size_t i = 0; i < data.tokens.size(); ++i) {
    if (!MayMerge(data.types[i]) || data.tokens[i].empty()) continue;
    ids.emplace(data.tokens[i], static_cast<Token>(i));
  }
  return ids;
}

// Limits the length of pieces, because the merge table holds every split of a piece and files may
// be hostile.
Status CheckLengths(const IdsByText& ids, std::string_view origin) {
  constexpr size_t kMostBytes = 1024;
  for (const auto& [piece, id] : ids) {
    if (piece.size() <= kMostBytes) continue;
    return Error{std::string(origin) + ": token " + std::to_string(id) + " has " +
                 std::to_string(piece.size()) + " bytes; expected at most " +
                 std::to_string(kMostBytes)};
  }
  return {};
}

Status CheckScores(const TokenizerData& data, std::string_view origin) {
  for (size_t i = 0; i < data.scores.size(); ++i) {
    if (data.scores[i] == data.scores[i]) continue;
    return Error{std::string(origin) + ": the score of token " + std::to_string(i) +
                 " is not a number"};
  }
  return {};
}

}  // namespace

Result<std::shared_ptr<const Tokenizer>> NewSentencePiece(TokenizerData data,
                                                          std::string_view origin) {
  const IdsByText ids = MergeableIds(data);
  Parts parts;
  parts.byte_tokens = ByteTokens(data);
  for (const auto& [piece, id] : ids) {
    AddCharacters(piece, ids, static_cast<Token>(data.tokens.size()), parts);
    parts.words_are_separate &= !HasSpaceAfterOther(piece);
  }
  if (data.merges.empty()) {
    FT_RETURN_IF_ERROR(CheckScores(data, origin));
    FT_RETURN_IF_ERROR(CheckLengths(ids, origin));
    const auto ranks = RanksOf(data.scores);
    for (const auto& [piece, id] : ids) {
      AddSplits(piece, {ranks.at(data.scores[id]), id}, ids, parts);
    }
  } else {
    FT_ASSIGN_OR_RETURN(parts.merges, ReadMerges(data, ids, origin));
  }
  return std::shared_ptr<const Tokenizer>(
      std::make_shared<SentencePiece>(std::move(data), std::move(parts)));
}

}  // namespace foretoken
