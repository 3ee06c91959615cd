#include "text/tokenizer_data.h"

#include <span>

#include "base/hash.h"
#include "base/rng.h"

namespace foretoken {

uint64_t VocabularyFingerprint(const TokenizerData& data) {
  uint64_t hash = Mix(data.tokens.size());
  for (const std::string& piece : data.tokens) {
    hash = Mix(hash ^ HashBytes(std::as_bytes(std::span(piece))));
  }
  return hash;
}

}  // namespace foretoken
