// Fuzzes GGUF files: parsing, configuration, tokenizer, draft metadata, dequantisation.
#include <algorithm>

#include "io/draft_file.h"
#include "io/gguf.h"
#include "text/tokenizer.h"

namespace foretoken {
namespace {

void DequantizeFirstRow(const TensorSource& tensor) {
  if (tensor.cols() > 4096) return;
  std::vector<float> row(static_cast<size_t>(tensor.cols()));
  Dequantize(tensor.type, tensor.bytes.data(), row);
}

void ReadAll(const GgufFile& file) {
  const Result<ModelConfig> config = ReadModelConfig(file);
  const Result<DraftInfo> draft = ReadDraftInfo(file);
  if (draft.ok() && !draft->ranking.empty()) {
    draft->ranking.Coverage(std::ssize(draft->ranking.tokens) / 2);
  }
  for (const TensorSource& tensor : file.tensors()) DequantizeFirstRow(tensor);
  Result<TokenizerData> data = ReadTokenizer(file);
  if (!data.ok() || data->tokens.empty()) return;
  const auto tokenizer = Tokenizer::Create(*std::move(data), "fuzz");
  if (tokenizer.ok()) (*tokenizer)->Encode("a b <s> 12\n", {.parse_special = true});
}

}  // namespace
}  // namespace foretoken

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // Copied to an aligned address, as for a mapped file.
  std::vector<uint64_t> copy((size + 7) / 8);
  std::copy(data, data + size, reinterpret_cast<uint8_t*>(copy.data()));
  const auto bytes = std::as_bytes(std::span(copy)).first(size);
  const auto file = foretoken::GgufFile::Parse(bytes, "fuzz");
  if (file.ok()) foretoken::ReadAll(*file);
  return 0;
}
