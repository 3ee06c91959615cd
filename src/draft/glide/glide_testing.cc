#include "draft/glide/glide_testing.h"

#include <cmath>
#include <numeric>

#include "base/json.h"
#include "draft/glide/glide_spec.h"
#include "draft/levels.h"
#include "draft/open_draft.h"

namespace foretoken {
namespace {

// The rows of a chain: tokens[i] at position first + i; the first one is the child of `parent`.
RowBatch ChainBatch(std::span<const Token> tokens, Pos first, Node parent) {
  RowBatch batch;
  for (const Token token : tokens) AddRow(batch, token, first + batch.rows(), parent++);
  batch.begin.push_back(batch.rows());
  return batch;
}

void CommitAll(KvCache& cache) {
  std::vector<Node> path(static_cast<size_t>(cache.provisional()));
  std::iota(path.begin(), path.end(), 0);
  cache.Commit(path);
}

// The weights [vocab, hidden] of an LM head that maps each token's embedding to the token's
// follower.
std::vector<float> FollowerHead(const std::vector<float>& embedding,
                                const std::vector<Token>& followers) {
  const size_t hidden = embedding.size() / followers.size();
  std::vector<float> head(embedding.size(), 0.0f);
  for (size_t x = 0; x < followers.size(); ++x) {
    for (size_t i = 0; i < hidden; ++i) {
      head[static_cast<size_t>(followers[x]) * hidden + i] +=
          embedding[x * hidden + i] * 8 / static_cast<float>(hidden);
    }
  }
  return head;
}

}  // namespace

DraftInfo GlideInfo(const TestTarget& target, int layers, bool has_cross_attention) {
  DraftInfo info =
      InfoFor(target.config, target.tokenizer.data(), std::string(GlideSpec::kMethod), layers);
  info.blocks.hidden += 32;
  info.blocks.kv_heads = info.blocks.heads;
  info.blocks.rope_base = 3000.0f;
  info.taps.clear();
  info.shared.clear();
  info.block_size = 5;
  if (has_cross_attention) info.kv_layers = GlideSpec::KvLayers(layers, target.config.layers);
  return info;
}

DraftBuilder RandomGlide(const TestTarget& target, const DraftInfo& info, uint64_t seed) {
  const ModelConfig& c = info.blocks;
  const GlideSpec spec{c.hidden, target.config.vocab,
                       int64_t{target.config.heads} * target.config.head_dim};
  DraftBuilder draft(seed);
  draft.AddRandom(spec.Embedding(), 1.0f);
  draft.Add(spec.Head(), FollowerHead(draft.values(spec.Embedding().name),
                                      CommonFollowers(target.texts(), target.config.vocab)));
  draft.AddRandom(spec.Norm(), 0.1f, 1);
  for (int layer = 0; layer < c.layers; ++layer) {
    draft.AddLayer(c, layer, /*strength=*/0.3f, /*attention_norm=*/true);
    if (info.kv_layers.empty()) continue;
    draft.AddRandom(spec.CrossQuery(layer), 1.5f / std::sqrt(static_cast<float>(spec.hidden)));
    draft.AddRandom(spec.CrossOutput(layer), 0.3f / std::sqrt(static_cast<float>(spec.inner)));
  }
  return draft;
}

Json GlideTestOptions(const TestTarget& target) {
  const std::string path = target.stem + ".gguf";
  const DraftInfo info = GlideInfo(target, /*layers=*/2, /*has_cross_attention=*/true);
  RandomGlide(target, info, 7).Write(info, path);
  return {{"draft", path}, {"cache_type", "f32"}};
}

std::unique_ptr<KvCache> CacheOf(Model& target, std::span<const Token> tokens, DType type) {
  auto cache = target.NewCache(static_cast<int>(tokens.size()), type);
  KvCache* const caches[] = {cache.get()};
  FT_CHECK(target.Forward(ChainBatch(tokens, 0, kNoNode), caches, {}, {}).ok());
  CommitAll(*cache);
  return cache;
}

Result<std::vector<float>> TraceGlide(const std::string& draft, Model& target,
                                      std::span<const Token> tokens, std::span<const Token> drafted,
                                      const GlideTraceOptions& options) {
  FT_ASSIGN_OR_RETURN(auto file, OpenDraft(draft));
  FT_ASSIGN_OR_RETURN(const auto net, GlideNet::Load(std::move(file), target, options.kv_layer));
  const auto text = tokens.first(tokens.size() - 1);
  const auto target_cache = CacheOf(target, text, options.target_cache);
  Glimpse glimpse{{}, target_cache->length()};
  for (const int layer : net->kv_layers()) {
    glimpse.layers.push_back({target_cache->Keys(layer), target_cache->Values(layer)});
  }
  const Glimpse* const glimpses[] = {&glimpse};
  const auto rows = static_cast<int>(tokens.size() + drafted.size());
  const auto cache = net->NewCache(rows, DType::kF32);
  KvCache* const caches[] = {cache.get()};
  std::vector<float> logits;
  const auto feed = [&](std::span<const Token> fed) {
    const int first = cache->provisional();
    RowBatch batch = ChainBatch(fed, first, first - 1);
    batch.logit_rows = {batch.rows() - 1};
    const Tensor row = *net->Forward(batch, caches, glimpses);
    logits.resize(logits.size() + static_cast<size_t>(row.cols));
    net->backend().Download(row, logits.data() + logits.size() - row.cols);
  };
  feed(tokens);
  for (const Token& token : drafted) feed(std::span(&token, 1));
  return logits;
}

}  // namespace foretoken
