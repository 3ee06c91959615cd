#include "draft/eagle3/eagle3_testing.h"

#include <numeric>

#include "base/json.h"
#include "draft/eagle3/eagle3_spec.h"

namespace foretoken {
namespace {

// Whether the draft's vocabulary contains the target's `token`.
bool IsKnown(Token token) { return token % 5 != 3; }

// A copy of `target` with every text split into its tokens at even and at odd positions, so that
// followers are two steps apart.
TestTarget SplitAlternately(const TestTarget& target) {
  TestTarget split = target;
  split.texts = [texts = target.texts] {
    std::vector<std::vector<Token>> parts;
    for (const std::vector<Token>& text : texts()) {
      parts.resize(parts.size() + 2);
      for (size_t i = 0; i < text.size(); ++i) parts[parts.size() - 1 - i % 2].push_back(text[i]);
    }
    return parts;
  };
  return split;
}

}  // namespace

std::vector<Token> Eagle3Vocabulary(int target_vocab) {
  std::vector<Token> tokens;
  for (Token token = 0; token < target_vocab; ++token) {
    if (IsKnown(token)) tokens.push_back(token);
  }
  return tokens;
}

DraftBuilder RandomEagle3(const TestTarget& target, uint64_t seed) {
  const ModelConfig& c = target.config;
  const int64_t hidden = c.hidden;
  const std::vector<Token> tokens = Eagle3Vocabulary(c.vocab);
  const Eagle3Spec spec{hidden, c.vocab, std::ssize(tokens)};
  DraftBuilder draft(seed);
  draft.AddRandom(spec.Projection(), 0.02f);
  // The first tap is the embedding of token i. The row's own token is i + 1 and it predicts token
  // i + 2, so a matrix of followers two steps apart is added to the columns that multiply this tap.
  const std::vector<float> follower = FollowerMatrix(SplitAlternately(target));
  std::vector<float>& fc = draft.values(spec.Projection().name);
  const auto width = static_cast<size_t>(hidden);
  for (size_t r = 0; r < width; ++r) {
    for (size_t i = 0; i < width; ++i) fc[r * 3 * width + i] += follower[r * width + i];
  }
  draft.AddRandom(spec.EmbeddingNorm(), 0.1f, 1);
  draft.AddRandom(spec.FeatureNorm(), 0.1f, 1);
  draft.AddLayer(c, 0, /*strength=*/0.2f, /*attention_norm=*/false, spec.AttentionInput());
  draft.AddRandom(spec.Norm(), 0.1f, 1);
  const std::vector<float> head =
      MatrixValues(target.weights, target.backend, "output.weight", c.vocab, hidden);
  std::vector<float> rows, offsets;
  for (const Token token : tokens) {
    const auto row = head.begin() + static_cast<std::ptrdiff_t>(token) * hidden;
    rows.insert(rows.end(), row, row + hidden);
    offsets.push_back(static_cast<float>(token) - static_cast<float>(offsets.size()));
  }
  draft.Add(spec.Head(), std::move(rows));
  draft.Add(spec.TokenMap(), std::move(offsets));
  return draft;
}

DraftInfo Eagle3Info(const TestTarget& target) {
  const int layers = target.config.layers;
  DraftInfo info = InfoFor(target.config, target.tokenizer.data(), std::string(Eagle3Spec::kMethod),
                           /*layers=*/1);
  info.blocks.vocab = static_cast<int>(Eagle3Vocabulary(target.config.vocab).size());
  info.taps = {0, layers / 2, layers};
  info.shared = {std::string(kSharedEmbedding)};
  return info;
}

Json Eagle3TestOptions(const TestTarget& target) {
  const std::string path = target.stem + ".gguf";
  RandomEagle3(target, 7).Write(Eagle3Info(target), path);
  return {{"draft", path}, {"cache_type", "f32"}};
}

EagleTrace TraceEagle3(Eagle3Net& net, std::span<const Token> tokens, std::span<const float> tapped,
                       std::span<const Token> drafted) {
  const int pairs = static_cast<int>(tokens.size()) - 1, width = net.hidden();
  Backend& backend = net.backend();
  const Buffer given = *backend.Allocate(DType::kF32, pairs, int64_t{3} * width);
  backend.Upload(tapped.data(), given.tensor);
  const Buffer fused = *backend.Allocate(DType::kF32, pairs, width);
  std::vector<Node> rows(static_cast<size_t>(pairs));
  std::iota(rows.begin(), rows.end(), 0);
  const Tensor taps[] = {given.tensor.Cols(0, width), given.tensor.Cols(width, width),
                         given.tensor.Cols(int64_t{2} * width, width)};
  FT_CHECK(net.Fuse(taps, rows, fused.tensor).ok());
  std::vector<float> features(static_cast<size_t>(pairs) * static_cast<size_t>(width));
  backend.Download(fused.tensor, features.data());
  return TraceEagle(net, tokens, features, drafted);
}

}  // namespace foretoken
