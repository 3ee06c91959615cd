// Fuzzes the readers of tokenizer.json and the files beside it: any text is read or refused, and
// what is read is usable.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "text/tokenizer.h"
#include "text/tokenizer_json.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  foretoken::TokenizerData plain;
  plain.tokens = {"a", "<s>"};
  plain.types.resize(2, foretoken::TokenType::kNormal);
  (void)foretoken::ReadTokenizerConfig(text, "fuzz.json", plain);

  auto data = foretoken::ReadTokenizerJson(text, "fuzz.json");
  if (!data) return 0;
  const auto tokenizer = foretoken::Tokenizer::Create(*std::move(data), "fuzz.json");
  if (!tokenizer) return 0;
  const auto tokens = (*tokenizer)->Encode("ab a<s> \xC3\xA9\xFF 12", {.parse_special = true});
  (void)(*tokenizer)->Decode(tokens, /*show_control=*/true);
  return 0;
}
