#include "text/tokenizer.h"

#include <algorithm>

#include "base/hex.h"
#include "base/utf8.h"
#include "text/byte_bpe.h"
#include "text/end_tokens.h"
#include "text/sentence_piece.h"

namespace foretoken {
namespace {

Status CheckSizes(const TokenizerData& data, std::string_view origin) {
  const auto check = [&](std::string_view what, size_t found) -> Status {
    if (found == data.tokens.size()) return {};
    return Error{std::string(origin) + ": tokenizer has " + std::to_string(data.tokens.size()) +
                 " tokens but " + std::to_string(found) + " " + std::string(what) +
                 "; expected one for each"};
  };
  if (data.tokens.empty()) return Error{std::string(origin) + ": the vocabulary is empty"};
  FT_RETURN_IF_ERROR(check("token types", data.types.size()));
  const bool need_scores = data.kind == TokenizerKind::kSentencePiece && data.merges.empty();
  return need_scores ? check("scores", data.scores.size()) : Status();
}

Status CheckIds(const TokenizerData& data, std::string_view origin) {
  const auto check = [&](std::string_view what, Token id) -> Status {
    if (id >= kNoToken && id < static_cast<Token>(data.tokens.size())) return {};
    return Error{std::string(origin) + ": " + std::string(what) + " token has id " +
                 std::to_string(id) + "; expected one below " + std::to_string(data.tokens.size())};
  };
  FT_RETURN_IF_ERROR(check("bos", data.bos));
  FT_RETURN_IF_ERROR(check("eos", data.eos));
  FT_RETURN_IF_ERROR(check("unknown", data.unknown));
  FT_RETURN_IF_ERROR(check("padding", data.padding));
  FT_RETURN_IF_ERROR(check("eot", data.eot));
  for (const Token id : data.eog) FT_RETURN_IF_ERROR(check("end-of-generation", id));
  return {};
}

// All tokens that end generation: those declared by the file and those known by name.
std::vector<Token> EndTokens(const TokenizerData& data) {
  std::vector<Token> ends = data.eog;
  ends.push_back(data.eos);
  ends.push_back(data.eot);
  for (size_t i = 0; i < data.tokens.size(); ++i) {
    if (data.types[i] != TokenType::kControl && data.types[i] != TokenType::kUserDefined) continue;
    if (IsEndName(data.tokens[i])) ends.push_back(static_cast<Token>(i));
  }
  std::erase(ends, kNoToken);
  std::ranges::sort(ends);
  ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
  return ends;
}

// The value of a byte token, spelled "<0xE2>"; -1 if it is not one.
int ByteValue(std::string_view stored) {
  if (stored.size() != 6 || !stored.starts_with("<0x") || stored[5] != '>') return -1;
  int value = 0;
  for (const char c : stored.substr(3, 2)) {
    const int digit = HexDigitValue(c);
    if (digit < 0) return -1;
    value = value * 16 + digit;
  }
  return value;
}

}  // namespace

Result<std::shared_ptr<const Tokenizer>> Tokenizer::Create(TokenizerData data,
                                                           std::string_view origin) {
  FT_RETURN_IF_ERROR(CheckSizes(data, origin));
  FT_RETURN_IF_ERROR(CheckIds(data, origin));
  data.eog = EndTokens(data);
  return data.kind == TokenizerKind::kByteBpe ? NewByteBpe(std::move(data), origin)
                                              : NewSentencePiece(std::move(data), origin);
}

Tokenizer::Tokenizer(TokenizerData data) : data_(std::move(data)), special_(data_) {}

void Tokenizer::BuildPieces() {
  piece_begins_ = {0};
  piece_begins_.reserve(data_.tokens.size() + 1);
  for (size_t i = 0; i < data_.tokens.size(); ++i) {
    const std::string& stored = data_.tokens[i];
    const TokenType type = data_.types[i];
    if (const int byte = ByteValue(stored); type == TokenType::kByte && byte >= 0) {
      pieces_ += static_cast<char>(byte);
    } else if (type == TokenType::kNormal || type == TokenType::kUnused) {
      pieces_ += NormalPiece(stored);
    } else {
      pieces_ += stored;
    }
    piece_begins_.push_back(pieces_.size());
  }
}

std::vector<Token> Tokenizer::Encode(std::string_view text, const EncodeOptions& options) const {
  return EncodePieces({&text, 1}, options).tokens;
}

PieceTokens Tokenizer::EncodePieces(std::span<const std::string_view> pieces,
                                    const EncodeOptions& options) const {
  size_t bytes = 0;
  for (const std::string_view piece : pieces) bytes += piece.size();
  PieceTokens encoded;
  std::vector<Token>& out = encoded.tokens;
  out.reserve(bytes / 4 + 2);
  if (options.add_bos && data_.add_bos && data_.bos != kNoToken) out.push_back(data_.bos);
  const std::unique_ptr<StretchEncoder> encoder = NewEncoder(bytes);
  bool prefix = true;
  for (const std::string_view text : pieces) {
    size_t done = 0;
    while (done < text.size()) {
      const auto special = special_.Find(text, done, options.parse_special);
      const size_t end = special ? special->begin : text.size();
      if (end > done) {
        encoder->Encode(text.substr(done, end - done), prefix, out);
        prefix = false;
      }
      if (!special) break;
      out.push_back(special->token);
      done = special->end;
      prefix = data_.prefix_after_special;
    }
    encoded.ends.push_back(out.size());
  }
  if (options.add_bos && data_.add_eos && data_.eos != kNoToken) out.push_back(data_.eos);
  return encoded;
}

std::string_view Tokenizer::PieceView(Token token, bool show_control) const {
  FT_CHECK(token >= 0 && token < vocab_size());
  const TokenType type = data_.types[token];
  if (!show_control && (type == TokenType::kControl || type == TokenType::kUnknown)) return {};
  return std::string_view{pieces_}.substr(piece_begins_[token],
                                          piece_begins_[token + 1] - piece_begins_[token]);
}

std::string Tokenizer::Piece(Token token, bool show_control) const {
  return std::string(PieceView(token, show_control));
}

bool Tokenizer::SpaceWasAdded() const {
  return data_.kind == TokenizerKind::kSentencePiece && data_.add_space_prefix;
}

std::string Tokenizer::Decode(std::span<const Token> tokens, bool show_control) const {
  std::string out;
  size_t first = 0;
  if (!tokens.empty() && tokens[0] == data_.bos && data_.bos != kNoToken) {
    out += PieceView(tokens[0], show_control);
    first = 1;
  }
  for (size_t i = first; i < tokens.size(); ++i) {
    std::string_view piece = PieceView(tokens[i], show_control);
    if (i == first && SpaceWasAdded() && piece.starts_with(' ')) piece.remove_prefix(1);
    out += piece;
  }
  return out;
}

std::string StreamDecoder::Push(Token token) {
  std::string piece = tokenizer_.Piece(token);
  const bool leading_bos = at_start_ && token == tokenizer_.data().bos;
  if (at_start_ && !leading_bos) {
    at_start_ = false;
    if (tokenizer_.SpaceWasAdded() && piece.starts_with(' ')) piece.erase(0, 1);
  }
  pending_ += piece;
  size_t complete = pending_.size();
  for (size_t held = 1; held <= 3 && held <= pending_.size(); ++held) {
    const size_t begin = pending_.size() - held;
    if (IsUtf8Prefix(std::string_view{pending_}.substr(begin))) complete = begin;
  }
  std::string out = ReplaceInvalidUtf8(std::string_view{pending_}.substr(0, complete));
  pending_.erase(0, complete);
  return out;
}

std::string StreamDecoder::Flush() {
  std::string out = ReplaceInvalidUtf8(pending_);
  pending_.clear();
  return out;
}

}  // namespace foretoken
