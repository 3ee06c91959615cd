// Readers of the tokenizer files in Hugging Face directories.
#pragma once

#include <string_view>

#include "base/result.h"
#include "text/tokenizer_data.h"

namespace foretoken {

// Reads a tokenizer.json with a BPE model: byte-level, or converted from SentencePiece
// (byte_fallback). The pre-tokenizer becomes a name if its rules are those of one, otherwise
// patterns. The text is assumed to be NFC-normalised; the normalisation is not applied. `origin` (a
// file name) prefixes error messages, which name the field, its content and what was expected. A
// normalizer, pre-tokenizer or post-processor that would change the tokens in a way that Tokenizer
// does not support is an error.
Result<TokenizerData> ReadTokenizerJson(std::string_view text, std::string_view origin);

// Adds the contents of a tokenizer_config.json, special_tokens_map.json or generation_config.json:
// special tokens by content or id, add_bos_token, add_eos_token, added_tokens_decoder,
// chat_template. Missing fields leave `data` unchanged. Errors: a field of the wrong type; a token
// that is not in the vocabulary.
Status ReadTokenizerConfig(std::string_view text, std::string_view origin, TokenizerData& data);

}  // namespace foretoken
