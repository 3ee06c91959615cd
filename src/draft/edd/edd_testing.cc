#include "draft/edd/edd_testing.h"

#include <algorithm>
#include <numeric>

#include "base/json.h"
#include "draft/edd/edd_spec.h"
#include "draft/open_draft.h"

namespace foretoken {

DraftBuilder RandomEdd(const TestTarget& target, uint64_t seed, int layers) {
  const ModelConfig& c = target.config;
  const auto hidden = static_cast<size_t>(c.hidden);
  const EddSpec spec{c.hidden, c.vocab};
  DraftBuilder draft(seed);
  draft.AddRandom(spec.Embedding(), 0.1f);
  const std::vector<float> head =
      MatrixValues(target.weights, target.backend, "output.weight", c.vocab, c.hidden);
  const std::vector<Token> followers = CommonFollowers(target.texts(), c.vocab);
  std::vector<float>& embedding = draft.values(spec.Embedding().name);
  for (size_t x = 0; x < followers.size(); ++x) {
    const float* follower_row = head.data() + static_cast<size_t>(followers[x]) * hidden;
    for (size_t i = 0; i < hidden; ++i) embedding[x * hidden + i] += 2 * follower_row[i];
  }
  for (int layer = 0; layer < layers; ++layer) {
    draft.AddLayer(c, layer, /*strength=*/0.3f, /*attention_norm=*/true);
  }
  draft.AddRandom(spec.Norm(), 0.03f, 0.3f);
  return draft;
}

DraftInfo EddInfo(const TestTarget& target, std::optional<int> tap, int layers) {
  DraftInfo info =
      InfoFor(target.config, target.tokenizer.data(), std::string(EddSpec::kMethod), layers);
  info.taps.clear();
  if (tap) info.taps.push_back(*tap);
  info.shared = {std::string(kSharedHead)};
  return info;
}

Json EddTestOptions(const TestTarget& target) {
  const std::string path = target.stem + ".gguf";
  RandomEdd(target, 7).Write(EddInfo(target, target.config.layers - 3), path);
  return {{"draft", path}, {"cache_type", "f32"}};
}

namespace {

RowBatch ChainOf(std::span<const Token> tokens, int position, Node first_parent) {
  RowBatch batch;
  for (size_t i = 0; i < tokens.size(); ++i) {
    const int row = static_cast<int>(i);
    AddRow(batch, tokens[i], position + row, first_parent + row);
  }
  batch.begin.push_back(batch.rows());
  return batch;
}

// Feeds the next rows of the text and commits them.
void FeedText(EddNet& net, std::span<const Token> tokens, std::span<const float> states,
              KvCache& cache) {
  const int rows = static_cast<int>(tokens.size());
  if (net.tap()) {
    const Buffer given = *net.backend().Allocate(DType::kF32, rows, net.hidden());
    net.backend().Upload(states.data(), given.tensor);
    net.backend().StoreRows(given.tensor, *net.Features(rows));
  }
  KvCache* const caches[] = {&cache};
  FT_CHECK(net.Forward(ChainOf(tokens, cache.length(), kNoNode), caches).ok());
  std::vector<Node> path(tokens.size());
  std::iota(path.begin(), path.end(), 0);
  cache.Commit(path);
}

}  // namespace

std::vector<float> TraceEdd(EddNet& net, std::span<const Token> tokens,
                            std::span<const float> states, std::span<const Token> path, int chunk) {
  const auto hidden = static_cast<size_t>(net.hidden());
  const auto cache = net.NewCache(static_cast<int>(tokens.size() + path.size()), DType::kF32);
  for (size_t begin = 0; begin < tokens.size();) {
    const size_t max_count = static_cast<size_t>(std::min(chunk, net.max_rows()));
    const size_t count = std::min(max_count, tokens.size() - begin);
    const auto given = net.tap() ? states.subspan(begin * hidden, count * hidden) : states;
    FeedText(net, tokens.subspan(begin, count), given, *cache);
    begin += count;
  }
  std::vector<float> logits(path.size() * static_cast<size_t>(net.config().vocab));
  KvCache* const caches[] = {cache.get()};
  for (size_t i = 0; i < path.size(); ++i) {
    const int step = static_cast<int>(i);
    const RowBatch row = ChainOf(path.subspan(i, 1), cache->length() + step, step - 1);
    net.backend().Download(*net.Logits(row, caches),
                           logits.data() + i * static_cast<size_t>(net.config().vocab));
  }
  return logits;
}

Result<std::vector<float>> TraceEdd(const std::string& draft, Model& target,
                                    std::span<const Token> tokens, std::span<const float> states,
                                    std::span<const Token> path) {
  FT_ASSIGN_OR_RETURN(auto file, OpenDraft(draft));
  FT_ASSIGN_OR_RETURN(const auto net, EddNet::Load(std::move(file), target));
  return TraceEdd(*net, tokens, states, path);
}

}  // namespace foretoken
