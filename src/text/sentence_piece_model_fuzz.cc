// Fuzzes the reader of tokenizer.model: any bytes are read or refused, and what is read is usable.
#include <cstddef>
#include <cstdint>
#include <span>

#include "text/sentence_piece_model.h"
#include "text/tokenizer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  auto data =
      foretoken::ReadSentencePieceModel(std::as_bytes(std::span(bytes, size)), "fuzz.model");
  if (!data) return 0;
  const auto tokenizer = foretoken::Tokenizer::Create(*std::move(data), "fuzz.model");
  if (!tokenizer) return 0;
  const auto tokens = (*tokenizer)->Encode("ab a<s> \xC3\xA9\xFF 12", {.parse_special = true});
  (void)(*tokenizer)->Decode(tokens, /*show_control=*/true);
  return 0;
}
