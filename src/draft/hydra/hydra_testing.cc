#include "draft/hydra/hydra_testing.h"

#include <algorithm>

#include "base/json.h"
#include "draft/hydra/hydra_spec.h"
#include "draft/open_draft.h"

namespace foretoken {

DraftBuilder RandomHydra(const TestTarget& target, int heads, int layers, uint64_t seed) {
  const int64_t hidden = target.config.hidden;
  const HydraSpec spec{hidden, target.config.vocab};
  DraftBuilder draft(seed);
  draft.AddLayer(target.config, 0, /*strength=*/1.0f, /*attention_norm=*/true);
  draft.AddRandom(spec.Norm(), 0.1f, 1);
  const std::vector<float> follower = FollowerMatrix(target);
  for (int k = 0; k < heads; ++k) {
    const int64_t inputs = spec.Inputs(k);
    draft.AddRandom(spec.FirstWeight(k), 0.03f);
    draft.AddRandom(spec.FirstBias(k), 0.1f);
    draft.AddRandom(spec.SkipWeight(k), 0.01f);
    std::vector<float>& skip = draft.values(spec.SkipWeight(k).name);
    for (int64_t r = 0; r < hidden; ++r) {  // columns of the last token's embedding
      for (int64_t i = 0; i < hidden; ++i) {
        skip[static_cast<size_t>((r + 1) * inputs - hidden + i)] +=
            follower[static_cast<size_t>(r * hidden + i)];
      }
    }
    draft.AddRandom(spec.SkipBias(k), 0.05f);
    for (int j = 1; j < layers; ++j) {
      draft.AddRandom(spec.BlockWeight(k, j), 0.02f);
      draft.AddRandom(spec.BlockBias(k, j), 0.05f);
    }
  }
  return draft;
}

DraftInfo HydraInfo(const TestTarget& target, int heads, int layers) {
  DraftInfo info = InfoFor(target.config, target.tokenizer.data(), std::string(HydraSpec::kMethod),
                           /*layers=*/1);
  info.output_heads = heads;
  info.head_layers = layers;
  return info;
}

Json HydraTestOptions(const TestTarget& target) {
  constexpr int kHeads = 4, kLayers = 3;
  const std::string path = target.stem + ".gguf";
  RandomHydra(target, kHeads, kLayers, 7).Write(HydraInfo(target, kHeads, kLayers), path);
  return {{"draft", path}, {"cache_type", "f32"}};
}

Result<HydraTrace> TraceHydra(const std::string& draft, Model& target,
                              std::span<const float> features, std::span<const Token> path) {
  FT_ASSIGN_OR_RETURN(auto file, OpenDraft(draft));
  FT_ASSIGN_OR_RETURN(const auto net, HydraNet::Load(std::move(file), target));
  Backend& backend = target.backend();
  const int rows = static_cast<int>(features.size()) / net->hidden();
  const Buffer given = *backend.Allocate(DType::kF32, rows, net->hidden());
  backend.Upload(features.data(), given.tensor);
  backend.StoreRows(given.tensor, *net->Features(rows));
  RowBatch batch;
  for (int r = 0; r < rows; ++r) AddRow(batch, 0, r, r - 1);
  batch.begin.push_back(rows);
  const auto cache = net->NewCache(rows, DType::kF32);
  KvCache* const caches[] = {cache.get()};
  const Tensor state = net->Forward(batch, caches)->Rows(rows - 1, 1);
  HydraTrace trace;
  trace.state.resize(static_cast<size_t>(net->hidden()));
  backend.Download(state, trace.state.data());
  std::vector<std::vector<Token>> tokens;
  for (int k = 0; k < std::min(net->heads(), static_cast<int>(path.size())); ++k) {
    tokens.push_back({path[static_cast<size_t>(k)]});
    backend.StoreRows(state, net->Input(k, 1)->Cols(0, net->hidden()));
    std::vector<float>& logits = trace.logits.emplace_back();
    logits.resize(static_cast<size_t>(target.config().vocab));
    backend.Download(*net->Logits(k, tokens), logits.data());
  }
  return trace;
}

}  // namespace foretoken
