#include "draft/medusa/medusa_testing.h"

#include "base/json.h"
#include "draft/medusa/medusa_spec.h"
#include "draft/open_draft.h"

namespace foretoken {
namespace {

// A matrix [vocab, hidden]. Row z is the sum of the target's LM head rows of all tokens that z
// follows `ahead` steps later, so the logit of z is the sum of these tokens' logits.
std::vector<float> FollowerHead(const TestTarget& target, const std::vector<Token>& followers,
                                int ahead) {
  const ModelConfig& c = target.config;
  const auto hidden = static_cast<size_t>(c.hidden);
  const std::vector<float> head =
      MatrixValues(target.weights, target.backend, "output.weight", c.vocab, c.hidden);
  std::vector<float> values(head.size(), 0.0f);
  for (size_t y = 0; y < followers.size(); ++y) {
    auto z = static_cast<Token>(y);
    for (int step = 0; step < ahead; ++step) z = followers[static_cast<size_t>(z)];
    for (size_t i = 0; i < hidden; ++i) {
      values[static_cast<size_t>(z) * hidden + i] += head[y * hidden + i];
    }
  }
  return values;
}

}  // namespace

DraftBuilder RandomMedusa(const TestTarget& target, int heads, int layers, uint64_t seed) {
  const ModelConfig& c = target.config;
  const std::vector<Token> followers = CommonFollowers(target.texts(), c.vocab);
  const MedusaSpec spec{c.hidden, c.vocab};
  DraftBuilder draft(seed);
  for (int k = 0; k < heads; ++k) {
    for (int j = 0; j < layers; ++j) {
      draft.AddRandom(spec.BlockWeight(k, j), 0.02f);
      draft.AddRandom(spec.BlockBias(k, j), 0.1f);
    }
    draft.Add(spec.Output(k, layers), FollowerHead(target, followers, k + 1));
  }
  return draft;
}

DraftInfo MedusaInfo(const TestTarget& target, int heads, int layers) {
  DraftInfo info = InfoFor(target.config, target.tokenizer.data(), std::string(MedusaSpec::kMethod),
                           /*layers=*/0);
  info.shared.clear();
  info.output_heads = heads;
  info.head_layers = layers;
  return info;
}

Json MedusaTestOptions(const TestTarget& target) {
  constexpr int kHeads = 4, kLayers = 1;
  const std::string path = target.stem + ".gguf";
  RandomMedusa(target, kHeads, kLayers, 7).Write(MedusaInfo(target, kHeads, kLayers), path);
  return {{"draft", path}};
}

Result<std::vector<std::vector<float>>> TraceMedusa(const std::string& draft, Model& target,
                                                    std::span<const float> features) {
  FT_ASSIGN_OR_RETURN(auto file, OpenDraft(draft));
  FT_ASSIGN_OR_RETURN(const auto net, MedusaNet::Load(std::move(file), target));
  const int64_t hidden = target.config().hidden;
  const Buffer given = *target.backend().Allocate(
      DType::kF32, static_cast<int64_t>(features.size()) / hidden, hidden);
  target.backend().Upload(features.data(), given.tensor);
  std::vector<std::vector<float>> heads;
  for (int k = 0; k < net->heads(); ++k) {
    const Tensor logits = *net->Logits(k, given.tensor);
    std::vector<float>& values = heads.emplace_back();
    values.resize(static_cast<size_t>(logits.rows * logits.cols));
    target.backend().Download(logits, values.data());
  }
  return heads;
}

}  // namespace foretoken
