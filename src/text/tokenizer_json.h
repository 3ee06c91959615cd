// Readers for the tokenizer files of Hugging Face directories.
#pragma once

#include <string_view>

#include "base/result.h"
#include "text/tokenizer_data.h"

namespace foretoken {

// A tokenizer.json with a BPE model: byte-level, or SentencePiece converted (byte_fallback). The
// pre-tokenizer becomes a name where its rules are those of one, else patterns. NFC normalisation
// is taken for granted in the text and not applied. `origin` (a file name) opens error messages,
// which name the field, what it holds and what was expected; a normalizer, pre-tokenizer or
// post-processor that would change the tokens in a way Tokenizer does not follow is an error.
Result<TokenizerData> ReadTokenizerJson(std::string_view text, std::string_view origin);

// Adds what a tokenizer_config.json, special_tokens_map.json or generation_config.json says:
// special tokens by content or id, add_bos_token, add_eos_token, added_tokens_decoder,
// chat_template. Fields that are missing leave `data` as it is. Errors: a field of the wrong kind;
// a token that is not in the vocabulary.
Status ReadTokenizerConfig(std::string_view text, std::string_view origin, TokenizerData& data);

}  // namespace foretoken
