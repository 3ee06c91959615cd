// Fuzzes schemas: any JSON schema is compiled, and a text of its grammar must be JSON.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/json.h"
#include "grammar/grammar.h"
#include "grammar/matcher.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view schema(reinterpret_cast<const char*>(data), size);
  const auto grammar = foretoken::GrammarOfSchemaText(schema, "fuzz");
  if (!grammar.ok()) return 0;
  foretoken::Matcher matcher(*grammar);
  foretoken::Matcher::Config config = matcher.Start();
  std::string text;
  for (size_t i = 0; i < 200 && !matcher.IsComplete(config); ++i) {
    for (int tried = 0; tried < 256; ++tried) {
      const auto byte = static_cast<uint8_t>(data[i % size] + i + tried);
      const auto next = matcher.Step(config, byte);
      if (!foretoken::Matcher::IsAlive(next)) continue;
      config = next;
      text += static_cast<char>(byte);
      break;
    }
  }
  if (matcher.IsComplete(config)) FT_CHECK(foretoken::ParseJson(text, "text").ok());
  return 0;
}
