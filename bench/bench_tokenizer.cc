// Benchmarks of tokenizers' encoding speed: the vocabularies of FT_SHARED_DATA on English prose and
// on code.
#include <benchmark/benchmark.h>

#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include "io/gguf.h"
#include "text/tokenizer.h"

namespace foretoken {
namespace {

std::string ReadWhole(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::shared_ptr<const Tokenizer> Load(const std::string& name) {
  const std::string path = FT_SHARED_DATA "/tokenizers/ggml-vocab-" + name + ".gguf";
  const Result<GgufFile> file = GgufFile::Open(path);
  if (!file) return nullptr;
  Result<TokenizerData> data = ReadTokenizer(*file);
  if (!data) return nullptr;
  auto tokenizer = Tokenizer::Create(*std::move(data), path);
  return tokenizer.ok() ? *std::move(tokenizer) : nullptr;
}

void Encode(benchmark::State& state, const std::string& vocabulary, const std::string& text_file) {
  const std::shared_ptr<const Tokenizer> tokenizer = Load(vocabulary);
  const std::string text = ReadWhole(FT_SHARED_DATA "/train/" + text_file);
  if (tokenizer == nullptr || text.empty()) {
    state.SkipWithError("no vocabulary or no text under " FT_SHARED_DATA);
    return;
  }
  for (auto _ : state) benchmark::DoNotOptimize(tokenizer->Encode(text));
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(text.size()));
}

void RegisterAll() {
  for (const char* name :
       {"gpt-2", "llama-spm", "phi-3", "mpt", "starcoder", "deepseek-llm", "deepseek-coder"}) {
    const std::string vocabulary = name;
    benchmark::RegisterBenchmark((vocabulary + "/prose").c_str(), Encode, vocabulary,
                                 "standard_ebooks.txt");
    benchmark::RegisterBenchmark((vocabulary + "/code").c_str(), Encode, vocabulary,
                                 "python_stdlib.txt");
  }
}

}  // namespace
}  // namespace foretoken

int main(int argc, char** argv) {
  foretoken::RegisterAll();
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
