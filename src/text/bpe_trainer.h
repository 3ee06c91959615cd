// Learns a byte-level BPE vocabulary from text.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/tokenizer_data.h"

namespace foretoken {

struct BpeTrainerOptions {
  int vocab_size = 0;                       // special tokens and the 256 bytes included
  std::string pre;                          // pre-tokenizer name ("" = default)
  std::vector<std::string> special_tokens;  // control tokens; they get the ids from 0 on
  int min_frequency = 2;                    // a pair that occurs less often is not merged
};

// The vocabulary is: special tokens, the 256 bytes, then the merged pieces in the order learnt; it
// is smaller than asked for when the text has no pairs left. Ties go to the pair of lower ids, so
// the result depends on nothing but the arguments. bos, eos and the template are left to the
// caller. Errors: an unknown pre-tokenizer; a vocabulary too small for special tokens and bytes; a
// special token that is empty or given twice.
Result<TokenizerData> TrainByteBpe(std::span<const std::string_view> documents,
                                   const BpeTrainerOptions& options);

}  // namespace foretoken
