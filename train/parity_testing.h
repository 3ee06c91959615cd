// Helpers for tests that compare training's forward pass with the engine's drafting from an
// exported draft.
#pragma once

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "checkpoint.h"
#include "model/model.h"
#include "model/scoring_for_test.h"
#include "ops_testing.h"
#include "optimizer.h"
#include "run_testing.h"
#include "target.h"

namespace foretoken::train {

// A batch of one document of random tokens, all of which have a loss.
inline Batch RandomDocument(int64_t vocab, int64_t length) {
  const Tensor tokens = torch::randint(0, vocab, {length + 1}, torch::kInt32);
  Batch batch;
  batch.batch = 1;
  batch.length = length;
  batch.ids = tokens.narrow(0, 0, length).contiguous();
  batch.targets = tokens.narrow(0, 1, length).contiguous();
  batch.weights = torch::ones({length});
  batch.first_key = torch::zeros({1, length}, torch::kInt32);
  batch.inner = torch::ones({length});
  batch.inner[length - 1] = 0.0;
  batch.extent = torch::full({length}, static_cast<double>(length));
  return batch;
}

inline std::vector<Token> TokensOf(const Tensor& ids) {
  return {ids.data_ptr<int32_t>(), ids.data_ptr<int32_t>() + ids.numel()};
}

inline std::span<const float> ValuesOf(const Tensor& rows) {
  return {rows.data_ptr<float>(), static_cast<size_t>(rows.numel())};
}

inline Tensor TensorOf(const std::vector<float>& values, int64_t width) {
  return torch::from_blob(const_cast<float*>(values.data()),
                          {static_cast<int64_t>(values.size()) / width, width});
}

// Expects that training's and the engine's forward pass give equal hidden states of a random
// document, after the embedding and after every layer.
inline void ExpectSameHiddenStates(FrozenTarget& target, Model& model, Backend& backend,
                                   int64_t length) {
  const torch::NoGradGuard no_grad;
  const LlamaShape& shape = target.shape();
  const Batch batch = RandomDocument(shape.vocab, length);
  for (int tap = 0; tap <= shape.layers; ++tap) {
    HiddenState state{tap, {}};
    target.Features(batch, &state);
    const auto cache = model.NewCache(static_cast<int>(length), DType::kF32);
    const SequenceRows rows{cache.get(), TokensOf(batch.ids), ChainParents(length)};
    Taps taps;
    Score(model, std::span(&rows, 1), {.hidden = {tap}}, std::span(&taps, 1));
    std::vector<float> values(static_cast<size_t>(state.value.numel()));
    backend.Download(taps.Hidden(tap), values.data());
    ExpectNear(TensorOf(values, shape.hidden), state.value, 1e-4);
  }
}

// Copies a model of the parity tests to `directory`, changed so that half of each head's dimensions
// rotate. Returns the copy's path.
inline std::string PartlyRotary(const std::string& family, const std::string& directory) {
  const std::string path = directory + "/partly-" + family;
  fs::copy(std::string(FT_SOURCE_DIR "/tests/parity/model/") + family, path);
  Json config = *ReadJsonFile(path + "/config.json");
  config["partial_rotary_factor"] = 0.5;
  std::ofstream(path + "/config.json") << config.dump();
  return path;
}

// Copies a GGUF file of the llama architecture (adjacent dimensions rotate together), changed so
// that only the first `dimensions` of each head rotate. Returns the copy's path.
inline std::string PartlyRotaryGguf(const std::string& from, uint32_t dimensions) {
  const std::string path = from + ".partly.gguf", key = "llama.rope.dimension_count";
  std::ifstream in(from, std::ios::binary);
  std::string bytes(std::istreambuf_iterator<char>(in), {});
  const size_t value = bytes.find(key) + key.size() + sizeof(uint32_t);  // skips the value's type
  std::memcpy(bytes.data() + value, &dimensions, sizeof(dimensions));
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

// A fixture that loads one f32 target in the trainer and in the engine.
class ParityTest : public RunTest {
 protected:
  void SetUp() override {
    torch::manual_seed(9);
    MakeTarget(FileType::kF32, /*steps=*/2);
    backend_ = *NewBackend("cpu");
    UseTarget(directory_ + "/target.gguf");
  }

  void UseTarget(const std::string& path) {
    path_ = path;
    model_.reset();
    target_ = *FrozenTarget::Open(path, torch::kFloat32, torch::kCPU);
    model_ = *LoadModel(target_->file(), *backend_);
  }

  // Calls check() once with each of OtherFamilies as the target.
  template <typename Check>
  void OnOtherFamilies(const Check& check) {
    for (const std::string& path : OtherFamilies()) {
      SCOPED_TRACE(path);
      UseTarget(path);
      check();
    }
  }
  // Returns targets with biases, q/k norms, scaled rotary positions, a sliding window, or heads of
  // which only some dimensions rotate.
  std::vector<std::string> OtherFamilies() const {
    std::vector<std::string> paths = {PartlyRotaryGguf(directory_ + "/target.gguf", 6)};
    for (const char* name : {"qwen2", "qwen3", "llama-3.1", "llama-yarn", "mistral"}) {
      paths.push_back(std::string(FT_SOURCE_DIR "/tests/parity/model/") + name);
    }
    for (const char* name : {"qwen2", "llama-yarn", "mistral"}) {
      paths.push_back(PartlyRotary(name, directory_));
    }
    return paths;
  }

  // Adds random values to the weights, then saves and exports them to draft_ like a run of `method`
  // with `settings`.
  void ExportRandom(WeightSet& weights, const std::string& method,
                    const std::map<std::string, std::string>& settings) {
    for (const NamedParameter& p : weights.parameters()) {
      torch::NoGradGuard no_grad;
      const double deviation =
          p.decays ? 1.0 / std::sqrt(static_cast<double>(p.value.size(1))) : 0.1;
      p.value.add_(torch::randn(p.value.sizes()), deviation);
    }
    weights.Refresh();
    CheckpointInfo info;
    info.recipe = TinyDraftRun(directory_, directory_, method).recipe;
    for (const auto& [name, value] : settings) info.recipe.settings[name] = value;
    info.recipe.settings["target"] = path_;
    info.recipe.layers = target_->shape().layers;
    const OptimizerOptions defaults;
    Optimizer optimizer(weights.parameters(), defaults);
    WeightAverage no_average(weights.parameters(), 0.0);
    ASSERT_TRUE(SaveCheckpoint(directory_, info, weights, optimizer, no_average).ok());
    const ExportRequest request{directory_, draft_, FileType::kF32, ""};
    const Status exported = FindMethod(method)->export_to(request, info);
    ASSERT_TRUE(exported.ok()) << exported.error().message;
  }

  std::string path_;
  std::unique_ptr<FrozenTarget> target_;
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<Model> model_;
  std::string draft_ = directory_ + "/draft.gguf";
};

}  // namespace foretoken::train
