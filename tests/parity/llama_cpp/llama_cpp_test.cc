// A GGUF that our trainer wrote gives the same greedy tokens here as in llama.cpp (goldens.json,
// made by make_goldens.py).
#include <gtest/gtest.h>

#include <algorithm>

#include "base/json.h"
#include "engine/generator.h"

namespace foretoken {
namespace {

constexpr const char* kFolder = FT_SOURCE_DIR "/tests/parity/llama_cpp/";
constexpr int kCapacity = 256;

std::vector<Token> Greedy(Generator& generator, const std::vector<Token>& prompt,
                          const std::vector<Token>& stop, int count) {
  SessionOptions options;
  options.capacity = kCapacity;
  options.cache_type = DType::kF32;
  options.stop = stop;
  const auto session = generator.Start(options);
  EXPECT_TRUE(generator.Prefill(*session, prompt, count).ok());
  Session* const batch[] = {session.get()};
  while (!session->done()) EXPECT_TRUE(generator.Step(batch).ok());
  const auto written = session->written();
  return {written.begin(), written.end()};
}

class LlamaCppParity : public testing::TestWithParam<std::string> {};

TEST_P(LlamaCppParity, GreedyTokensMatchLlamaCpp) {
  const auto file = ModelFile::Open(std::string(kFolder) + "tiny.gguf");
  ASSERT_TRUE(file.ok()) << file.error().message;
  const auto goldens = ReadJsonFile(std::string(kFolder) + "goldens.json");
  ASSERT_TRUE(goldens.ok()) << goldens.error().message;
  ASSERT_GE(goldens->size(), 20u);

  const auto backend = NewBackend(GetParam(), {.threads = 2});
  ASSERT_TRUE(backend.ok());
  const auto model = LoadModel(**file, **backend);
  ASSERT_TRUE(model.ok()) << model.error().message;
  const auto verifier = NewExactVerifier(**backend);
  Generator generator(**model, nullptr, *verifier, {});
  for (const Json& golden : *goldens) {
    const auto tokens = golden["tokens"].get<std::vector<Token>>();
    EXPECT_EQ(Greedy(generator, golden["prompt"].get<std::vector<Token>>(),
                     (*file)->tokenizer().eog, static_cast<int>(tokens.size())),
              tokens);
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, LlamaCppParity, testing::ValuesIn(BackendNames()),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::ranges::replace(name, ':', '_');
                           return name;
                         });

}  // namespace
}  // namespace foretoken
