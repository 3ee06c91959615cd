// Fuzzes templates: any source is parsed and rendered over a fixed conversation without a crash or
// hang.
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/json.h"
#include "jinja/chat_template.h"

namespace {

const foretoken::Json& Messages() {
  static const foretoken::Json messages = foretoken::Json::parse(R"([
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Grüße, 世界"},
    {"role": "assistant", "content": null,
     "tool_calls": [{"function": {"name": "f", "arguments": {"a": [1, 2.5, true]}}}]},
    {"role": "tool", "content": "42"}])");
  return messages;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string source(reinterpret_cast<const char*>(data), size);
  const auto parsed = foretoken::ChatTemplate::Parse(std::move(source), "fuzz");
  if (!parsed.ok()) return 0;
  const auto text = parsed->Render({.messages = &Messages(),
                                    .bos_token = "<s>",
                                    .eos_token = "</s>",
                                    .max_output_bytes = size_t{1} << 20,
                                    .max_work = 100'000});
  static_cast<void>(text.ok());
  return 0;
}
