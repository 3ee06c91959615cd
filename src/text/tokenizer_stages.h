// The stages of a tokenizer.json around its model: normalizer, pre_tokenizer, post_processor.
// Include only in .cc files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/json_tree.h"
#include "text/tokenizer_data.h"

namespace foretoken {

// The effects of the stages that are not stored in TokenizerData directly.
struct TokenizerStages {
  bool byte_level = false;            // bytes are mapped to printable characters
  bool marks_spaces = false;          // spaces become U+2581
  std::vector<std::string> patterns;  // of the pre-tokenizer, in order of application
};

// Reads normalizer and pre_tokenizer of `root`. Errors: a stage that Tokenizer does not support.
Result<TokenizerStages> ReadStages(const JsonTree& root, std::string_view origin,
                                   TokenizerData& data);

// Reads the post_processor: the tokens added before and after a text (add_bos, bos, add_eos, eos).
// REQUIRES: data.tokens is complete.
Status ReadPostProcessor(const JsonTree& root, std::string_view origin, TokenizerData& data);

}  // namespace foretoken
