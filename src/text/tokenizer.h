// Turns text into a model's token ids and back.
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
  bool add_bos = true;         // begin with bos, and end with eos, where the model asks for them
  bool parse_special = false;  // recognise control tokens written out in the text
};

// The tokens of a text that is given in pieces.
struct PieceTokens {
  std::vector<Token> tokens;
  std::vector<size_t>
      ends;  // [pieces] tokens up to a piece's end; a bos belongs to the first piece
};

// Immutable once built. Thread-safety: const methods may run on any number of threads.
class Tokenizer {
 public:
  // Errors: inconsistent data (sizes differ, ids out of range, merges of unknown pieces, unknown
  // pre-tokenizer); `origin` (a file name) opens the message.
  static Result<std::shared_ptr<const Tokenizer>> Create(TokenizerData data,
                                                         std::string_view origin);
  virtual ~Tokenizer() = default;

  const TokenizerData& data() const { return data_; }
  int vocab_size() const { return static_cast<int>(data_.tokens.size()); }

  // Any bytes are accepted; bytes that are not UTF-8 are kept where the scheme has byte tokens.
  std::vector<Token> Encode(std::string_view text, const EncodeOptions& options = {}) const;
  // The same for the text that `pieces` make end to end, but no token reaches over a piece's end:
  // the tokens of the whole wherever those do not either.
  PieceTokens EncodePieces(std::span<const std::string_view> pieces,
                           const EncodeOptions& options = {}) const;

  // The bytes `token` stands for; control and unknown tokens give "" unless `show_control`. A piece
  // may be a fragment of a UTF-8 sequence: stream through StreamDecoder. REQUIRES: 0 <= token <
  // vocab_size().
  std::string Piece(Token token, bool show_control = false) const;

  // Whether encoding put a space before the text that decoding takes away again.
  bool SpaceWasAdded() const;

  // The text of `tokens`. For kSentencePiece the leading space that encoding added is removed when
  // `tokens` starts a text (a leading bos is skipped first).
  std::string Decode(std::span<const Token> tokens, bool show_control = false) const;

 protected:
  explicit Tokenizer(TokenizerData data);
  // What one call of Encode keeps from stretch to stretch.
  class StretchEncoder {
   public:
    virtual ~StretchEncoder() = default;
    // Encodes a stretch of text that holds no special tokens, appending to `out`, the same vector
    // in every call. `prefix`: a space goes before the first word, if the scheme has one at all.
    // The text stays valid while the encoder lives.
    virtual void Encode(std::string_view stretch, bool prefix, std::vector<Token>& out) = 0;
  };
  virtual std::unique_ptr<StretchEncoder> NewEncoder(size_t text_bytes) const = 0;
  // The bytes a token of kind kNormal or kUnused stands for.
  virtual std::string NormalPiece(std::string_view stored) const = 0;
  // To be called at the end of the constructor of a final class.
  void BuildPieces();

  TokenizerData data_;

 private:
  std::string_view PieceView(Token token, bool show_control) const;

  SpecialTokens special_;
  std::string pieces_;                // the bytes of every token, end to end
  std::vector<size_t> piece_begins_;  // [vocab + 1] into pieces_
};

// Where the tokens that a StreamDecoder gets stand in their text.
enum class StreamPlace : uint8_t { kStart, kMiddle };

// Holds back incomplete UTF-8 so that a stream of pieces never shows half a character.
// Thread-safety: one thread. The tokenizer must outlive it.
class StreamDecoder {
 public:
  // kStart: what Push returns adds up to Tokenizer::Decode, but for bytes that are not UTF-8.
  // kMiddle: text goes before it (a prompt), so no leading space is removed.
  explicit StreamDecoder(const Tokenizer& tokenizer, StreamPlace place = StreamPlace::kStart)
      : tokenizer_(tokenizer), at_start_(place == StreamPlace::kStart) {}
  // The text that became complete with `token`; "" while a sequence is unfinished. Always valid
  // UTF-8: a byte that cannot be part of a character becomes U+FFFD.
  std::string Push(Token token);
  // What is still held back, invalid bytes replaced by U+FFFD.
  std::string Flush();

 private:
  const Tokenizer& tokenizer_;
  std::string pending_;
  bool at_start_;
};

}  // namespace foretoken
