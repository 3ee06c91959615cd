// Training of byte-level BPE vocabularies.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/tokenizer_data.h"

namespace foretoken {

struct BpeTrainerOptions {
  int vocab_size = 0;                       // including special tokens and the 256 bytes
  std::string pre;                          // pre-tokenizer name ("" = default)
  std::vector<std::string> special_tokens;  // control tokens; their ids start at 0
  int min_frequency = 2;                    // rarer pairs are not merged
};

// Learns a vocabulary from `documents`: special tokens, the 256 bytes, then the merged pieces in
// the order learnt. It is smaller than `vocab_size` if the text has no pairs left. Ties go to the
// pair of lower ids, so the result depends only on the arguments. bos, eos and the template are
// left to the caller. Errors: an unknown pre-tokenizer; a vocabulary too small for special tokens
// and bytes; a special token that is empty or given twice.
Result<TokenizerData> TrainByteBpe(std::span<const std::string_view> documents,
                                   const BpeTrainerOptions& options);

}  // namespace foretoken
