// Logits and hidden states of the golden models (make_goldens.py) agree with those of transformers,
// on every backend of this machine, from the Hugging Face directory and from a converted GGUF.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>

#include "../golden_reader.h"
#include "../max_difference.h"
#include "io/convert.h"
#include "model/model.h"
#include "model/scoring_for_test.h"

namespace foretoken {
namespace {

constexpr float kTolerance = 1e-4f;
const std::string kFolder = FT_SOURCE_DIR "/tests/parity/model/";

struct Golden {
  std::vector<Token> tokens;
  std::vector<float> logits;               // [n, vocab]
  std::vector<std::vector<float>> hidden;  // [layers + 1][n, hidden]
};

// Reads the file that write_goldens of make_goldens.py describes.
std::vector<Golden> ReadGoldens(const std::string& path, const ModelConfig& config) {
  GoldenReader reader(path);
  std::vector<Golden> goldens(static_cast<size_t>(reader.Count()));
  for (Golden& golden : goldens) {
    const auto n = static_cast<size_t>(reader.Count());
    golden.tokens = reader.Values<Token>(n);
    golden.logits = reader.Values<float>(n * static_cast<size_t>(config.vocab));
    for (int i = 0; i <= config.layers; ++i) {
      golden.hidden.push_back(reader.Values<float>(n * static_cast<size_t>(config.hidden)));
    }
  }
  EXPECT_TRUE(reader.AtEnd());
  return goldens;
}

std::vector<float> Values(Backend& backend, Tensor t) {
  std::vector<float> values(t.rows * t.cols);
  backend.Download(t, values.data());
  return values;
}

void ExpectGolden(Model& model, const Golden& golden) {
  const int n = static_cast<int>(golden.tokens.size());
  const auto cache = model.NewCache(n, DType::kF32);
  const SequenceRows rows{
      .cache = cache.get(), .tokens = golden.tokens, .parents = ChainParents(n)};
  const RowBatch batch = MakeBatch({&rows, 1});
  KvCache* const caches[] = {cache.get()};
  const TapSpec spec{.hidden = Range(model.config().layers + 1)};
  std::vector<Taps> taps(1);
  const Tensor logits = *model.Forward(batch, caches, spec, taps);
  EXPECT_LE(MaxDifference(Values(model.backend(), logits), golden.logits), kTolerance)
      << n << " tokens";
  for (int i = 0; i <= model.config().layers; ++i) {
    EXPECT_LE(MaxDifference(Values(model.backend(), taps[0].Hidden(i)), golden.hidden[i]),
              kTolerance)
        << n << " tokens, hidden state " << i;
  }
}

void ExpectGoldens(const ModelFile& file, const std::string& backend_name,
                   const std::string& golden_path) {
  const auto backend = *NewBackend(backend_name, {.threads = 2});
  auto model = LoadModel(file, *backend);
  ASSERT_TRUE(model.ok()) << model.error().message;
  for (const Golden& golden : ReadGoldens(golden_path, file.config())) {
    ExpectGolden(**model, golden);
  }
}

using BackendAndModel = std::tuple<std::string, const char*>;

class ModelParity : public ::testing::TestWithParam<BackendAndModel> {};

TEST_P(ModelParity, AHuggingFaceDirectoryMatchesTransformers) {
  const auto& [backend, name] = GetParam();
  const auto file = ModelFile::Open(kFolder + name);
  ASSERT_TRUE(file.ok()) << file.error().message;
  ExpectGoldens(**file, backend, kFolder + name + "/golden.bin");
}

// Conversion permutes q and k of Llama models for interleaved RoPE, and turns llama3 scaling into a
// tensor.
TEST_P(ModelParity, AConvertedGgufMatchesTransformers) {
  const auto& [backend, name] = GetParam();
  const auto file = ModelFile::Open(kFolder + name);
  ASSERT_TRUE(file.ok()) << file.error().message;
  const auto plans = PlanConversion(**file, FileType::kF32);
  ASSERT_TRUE(plans.ok()) << plans.error().message;
  const std::string path =
      ::testing::TempDir() + "model_parity_" + std::to_string(getpid()) + "_" + name + ".gguf";
  const auto pool = *ThreadPool::Create(1);
  const Status written =
      ConvertModel(**file, *plans, FileType::kF32, *pool, path, [](size_t, size_t) {});
  ASSERT_TRUE(written.ok()) << written.error().message;
  const auto converted = ModelFile::Open(path);
  ASSERT_TRUE(converted.ok()) << converted.error().message;
  ExpectGoldens(**converted, backend, kFolder + name + "/golden.bin");
  std::filesystem::remove(path);
}

INSTANTIATE_TEST_SUITE_P(Goldens, ModelParity,
                         ::testing::Combine(::testing::ValuesIn(BackendNames()),
                                            ::testing::Values("llama", "llama-linear", "llama-yarn",
                                                              "llama-3.1", "llama-mha", "mistral",
                                                              "qwen2", "qwen3")),
                         [](const ::testing::TestParamInfo<BackendAndModel>& info) {
                           std::string name =
                               std::get<0>(info.param) + "_" + std::get<1>(info.param);
                           for (char& c : name) {
                             if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
                           }
                           return name;
                         });

}  // namespace
}  // namespace foretoken
