// Fuzzes zip files and pickles; reads every byte of every accepted tensor.
#include "io/torch/tensor_pickle.h"
#include "io/torch/torch_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  volatile size_t sum = 0;
  if (const auto pickle = foretoken::ReadTensorPickle(bytes, "fuzz"); pickle.ok()) {
    sum = sum + pickle->size();
  }
  const auto file = foretoken::TorchFile::Parse(bytes, "fuzz");
  if (!file.ok()) return 0;
  for (const foretoken::SafetensorsEntry& entry : file->entries()) {
    for (const std::byte b : entry.bytes) sum = sum + std::to_integer<size_t>(b);
  }
  return 0;
}
