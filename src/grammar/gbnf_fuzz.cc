// Fuzzes GBNF: any grammar is parsed, compiled and matched without a crash or hang.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "grammar/grammar.h"
#include "grammar/matcher.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto grammar = foretoken::GrammarOfGbnf(text, "fuzz");
  if (!grammar.ok()) return 0;
  foretoken::Matcher matcher(*grammar);
  foretoken::Matcher::Config config = matcher.Start();
  for (size_t i = 0; i < size && i < 64; ++i) {  // a text that alternates among the allowed bytes
    for (int tried = 0; tried < 256; ++tried) {
      const auto next = matcher.Step(config, static_cast<uint8_t>(data[i] + tried));
      if (!foretoken::Matcher::IsAlive(next)) continue;
      config = next;
      break;
    }
  }
  return 0;
}
