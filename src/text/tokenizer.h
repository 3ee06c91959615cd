// Conversion between text and a model's token ids.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/special_tokens.h"
#include "text/tokenizer_data.h"

namespace foretoken {

struct EncodeOptions {
  bool add_bos = true;         // prepend bos and append eos as add_bos, add_eos of the data say
  bool parse_special = false;  // recognise control tokens spelled out in the text
};

// The tokens of a text given in pieces.
struct PieceTokens {
  std::vector<Token> tokens;
  // [pieces] number of tokens up to the end of each piece; a bos counts for the first piece.
  std::vector<size_t> ends;
};

// Immutable once built. Thread-safety: const methods may run on any number of threads.
class Tokenizer {
 public:
  // Errors: inconsistent data (sizes differ, ids out of range, merges of unknown pieces, unknown
  // pre-tokenizer). `origin` (a file name) prefixes the message.
  static Result<std::shared_ptr<const Tokenizer>> Create(TokenizerData data,
                                                         std::string_view origin);
  virtual ~Tokenizer() = default;

  const TokenizerData& data() const { return data_; }
  int vocab_size() const { return static_cast<int>(data_.tokens.size()); }

  // Accepts any bytes. Bytes that are not UTF-8 are preserved if the scheme has byte tokens.
  std::vector<Token> Encode(std::string_view text, const EncodeOptions& options = {}) const;
  // Encodes the concatenation of `pieces` so that no token crosses the end of a piece. The tokens
  // are those of Encode wherever these do not cross piece ends either.
  PieceTokens EncodePieces(std::span<const std::string_view> pieces,
                           const EncodeOptions& options = {}) const;

  // The bytes that `token` represents; "" for control and unknown tokens unless `show_control`. A
  // piece may be a fragment of a UTF-8 sequence: stream through StreamDecoder. REQUIRES: 0 <= token
  // < vocab_size().
  std::string Piece(Token token, bool show_control = false) const;

  // Whether encoding adds a leading space that decoding removes.
  bool SpaceWasAdded() const;

  // The text of `tokens`. For kSentencePiece, the leading space that encoding added is removed if
  // `tokens` is the beginning of a text (a leading bos is skipped first).
  std::string Decode(std::span<const Token> tokens, bool show_control = false) const;

 protected:
  explicit Tokenizer(TokenizerData data);
  // The state of one call of Encode, kept from one stretch of text to the next.
  class StretchEncoder {
   public:
    virtual ~StretchEncoder() = default;
    // Encodes a stretch of text without special tokens and appends to `out`, which must be the same
    // vector in every call. `prefix`: put a space before the first word, if the scheme does so. The
    // text must stay valid while the encoder lives.
    virtual void Encode(std::string_view stretch, bool prefix, std::vector<Token>& out) = 0;
  };
  virtual std::unique_ptr<StretchEncoder> NewEncoder(size_t text_bytes) const = 0;
  // The bytes that a token of type kNormal or kUnused represents.
  virtual std::string NormalPiece(std::string_view stored) const = 0;
  // Must be called at the end of the constructor of a derived class.
  void BuildPieces();

  TokenizerData data_;

 private:
  std::string_view PieceView(Token token, bool show_control) const;

  SpecialTokens special_;
  std::string pieces_;                // the bytes of all tokens, concatenated
  std::vector<size_t> piece_begins_;  // [vocab + 1] into pieces_
};

// Position of a StreamDecoder's tokens in their text.
enum class StreamPlace : uint8_t { kStart, kMiddle };

// Decodes a stream of tokens and holds back incomplete UTF-8, so that no partial character is
// shown. Thread-safety: one thread. The tokenizer must outlive it.
class StreamDecoder {
 public:
  // kStart: the results of Push and Flush concatenate to Tokenizer::Decode, except for bytes that
  // are not UTF-8. kMiddle: other text, such as a prompt, comes before, so no leading space is
  // removed.
  explicit StreamDecoder(const Tokenizer& tokenizer, StreamPlace place = StreamPlace::kStart)
      : tokenizer_(tokenizer), at_start_(place == StreamPlace::kStart) {}
  // The text completed by `token`; "" while a UTF-8 sequence is incomplete. Always valid UTF-8: a
  // byte that cannot be part of a character becomes U+FFFD.
  std::string Push(Token token);
  // The text still held back, with invalid bytes replaced by U+FFFD.
  std::string Flush();

 private:
  const Tokenizer& tokenizer_;
  std::string pending_;
  bool at_start_;
};

}  // namespace foretoken
