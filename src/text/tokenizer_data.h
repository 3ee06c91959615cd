// The contents of a tokenizer file, independent of its format: the vocabulary and how to apply it.
// Readers (GGUF metadata, tokenizer.json, tokenizer.model) and the BPE trainer produce it;
// Tokenizer and the model writers consume it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/types.h"

namespace foretoken {

enum class TokenizerKind : uint8_t {
  kSentencePiece,  // llama: pieces with scores, U+2581 for space, byte fallback
  kByteBpe,        // gpt2: bytes mapped to printable characters, ranked merges
};

// The values that GGUF stores in tokenizer.ggml.token_type.
enum class TokenType : int32_t {
  kNormal = 1,
  kUnknown = 2,
  kControl = 3,      // special: matched in text only on request, hidden from decoded text
  kUserDefined = 4,  // added: always matched in text, shown
  kUnused = 5,
  kByte = 6,
};

struct TokenizerData {
  TokenizerKind kind = TokenizerKind::kByteBpe;
  std::string pre;          // pre-tokenizer name as in tokenizer.ggml.pre ("llama-bpe", ...)
  std::string pre_pattern;  // explicit regular expressions, one per line, applied in order;
                            // overrides `pre` if not empty
  std::vector<std::string> tokens;  // [vocab] as GGUF stores them (byte-BPE: mapped characters)
  std::vector<float> scores;        // [vocab] kSentencePiece; else empty
  std::vector<TokenType> types;     // [vocab]
  std::vector<std::string> merges;  // "left right", best first. kSentencePiece: may be empty; if
                                    // given, overrides the scores
  Token bos = kNoToken, eos = kNoToken, unknown = kNoToken, padding = kNoToken;
  Token eot = kNoToken;    // end of a chat turn, if it differs from eos
  std::vector<Token> eog;  // every token that ends generation (eos and eot included)
  bool add_bos = false, add_eos = false;
  bool add_space_prefix = true;       // kSentencePiece: put a space before the first word
  bool prefix_after_special = true;   // also before the first word after a special token
  bool prefix_doubles_space = true;   // even if the text there begins with a space
  std::vector<Token> lstrip, rstrip;  // special tokens that swallow adjacent white space
  bool ignore_merges = false;  // a pre-token that is in the vocabulary becomes one token (llama-3)
  std::string chat_template;   // Jinja source, may be empty
};

// A hash of the vocabulary: equal for the same pieces in the same order.
uint64_t VocabularyFingerprint(const TokenizerData& data);

}  // namespace foretoken
