// Turns text into a model's token ids and back.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/tokenizer_data.h"

namespace foretoken {

struct EncodeOptions {
  bool add_bos = true;         // begin with bos, and end with eos, where the model asks for them
  bool parse_special = false;  // recognise control tokens written out in the text
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
  bool IsEndOfGeneration(Token token) const;

  // Any bytes are accepted; bytes that are not UTF-8 are kept where the scheme has byte tokens.
  std::vector<Token> Encode(std::string_view text, const EncodeOptions& options = {}) const;

  // The bytes `token` stands for; control tokens give "" unless `show_control`. A piece may be a
  // fragment of a UTF-8 sequence: stream through StreamDecoder. REQUIRES: 0 <= token < vocab_size().
  std::string Piece(Token token, bool show_control = false) const;

  // The text of `tokens`. For kSentencePiece the leading space that encoding added is removed when
  // `tokens` starts a text (a leading bos is skipped first).
  std::string Decode(std::span<const Token> tokens, bool show_control = false) const;

 protected:
  explicit Tokenizer(TokenizerData data) : data_(std::move(data)) {}
  // Encodes a stretch of text that holds no special tokens, appending to `out`.
  virtual void EncodeStretch(std::string_view text, bool at_start, std::vector<Token>& out) const = 0;

  TokenizerData data_;
  // ... implementation members are the owner's business.
};

// Holds back incomplete UTF-8 so that a stream of pieces never shows half a character.
class StreamDecoder {
 public:
  explicit StreamDecoder(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {}
  // The text that became complete with `token`; "" while a sequence is unfinished.
  std::string Push(Token token);
  // What is still held back, invalid bytes replaced by U+FFFD.
  std::string Flush();

 private:
  const Tokenizer& tokenizer_;
  std::string pending_;
  bool at_start_ = true;
};

}  // namespace foretoken
