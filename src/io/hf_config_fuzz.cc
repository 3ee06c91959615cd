// Fuzzes config.json and generation_config.json.
#include "io/hf_config.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto config = foretoken::ParseHfConfig(text, "fuzz");
  if (config.ok() && config->model.rope_dim > config->model.head_dim) __builtin_trap();
  const auto generation = foretoken::ParseHfGeneration(text, "fuzz");
  return generation.ok() && !generation->eos.empty() && generation->eos[0] < 0 ? -1 : 0;
}
