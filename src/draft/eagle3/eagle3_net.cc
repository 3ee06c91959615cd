#include "draft/eagle3/eagle3_net.h"

#include <array>
#include <cmath>

#include "draft/eagle3/eagle3_spec.h"
#include "draft/scratch.h"
#include "draft/trained.h"
#include "io/draft_keys.h"
#include "model/model_config.h"

namespace foretoken {
namespace {

constexpr int kTaps = Eagle3Spec::kTaps;

Status CheckSizes(const ModelConfig& config, const ModelConfig& target, const std::string& path) {
  FT_RETURN_IF_ERROR(CheckConfig(config, path));
  if (config.hidden != target.hidden) {
    return WrongKey(path, kHiddenKey, config.hidden,
                    "the target's " + std::to_string(target.hidden));
  }
  if (config.layers == 1) return {};
  return WrongKey(path, kLayersKey, config.layers, "1");
}

// Indices of the three hidden states that the draft reads: those that the file names or, if it
// names none, the method's defaults. Negative indices count from the end.
Result<std::vector<int>> TapsOf(const DraftFile& file, int layers) {
  std::vector<int> taps = file.info().taps;
  const bool named = !taps.empty();
  for (int& tap : taps) tap += tap < 0 ? layers + 1 : 0;
  if (!named) taps = Eagle3Spec::Taps(layers);
  const bool valid = taps.size() == kTaps && 0 <= taps[0] && taps[0] < taps[1] &&
                     taps[1] < taps[2] && taps[2] <= layers;
  if (valid) return taps;
  std::string found;
  for (const int tap : taps) found += (found.empty() ? "" : ", ") + std::to_string(tap);
  return Error{file.path() + ": " + DraftKey(kTapsKey) + " " +
               (named ? "holds " : "is missing and would be ") + found +
               ", expected three different hidden states from 0 to " + std::to_string(layers) +
               ", ascending: the target has " + std::to_string(layers) + " layers"};
}

// For each row of the LM head, the target's token that it scores: row i scores token i + d2t[i].
// Empty: row i scores token i, and the head has the target's whole vocabulary.
Result<std::vector<Token>> TokensOf(const DraftFile& file, WeightSource& source, Backend& backend,
                                    const Eagle3Spec& spec) {
  const int draft_vocab = file.config().vocab;
  const auto target_vocab = static_cast<int>(spec.vocab);
  const TensorSpec map = spec.TokenMap();
  const std::string label = file.path() + ": tensor '" + map.name + "' ";
  std::vector<Token> tokens;
  if (!file.Has(map.name)) {
    if (draft_vocab == target_vocab) return tokens;
    return Error{label + "is missing, expected the offsets of " + std::to_string(draft_vocab) +
                 " tokens of the draft to the target's " + std::to_string(target_vocab)};
  }
  FT_ASSIGN_OR_RETURN(const Buffer buffer, source.Vector(map.name, map.rows()));
  std::vector<float> offsets(static_cast<size_t>(draft_vocab));
  backend.Download(buffer.tensor, offsets.data());
  std::vector<bool> taken(static_cast<size_t>(target_vocab));
  tokens.reserve(offsets.size());
  for (int i = 0; i < draft_vocab; ++i) {
    const double token = i + static_cast<double>(offsets[static_cast<size_t>(i)]);
    // Negated so that NaN is refused too.
    if (!(token >= 0 && token < target_vocab && token == std::floor(token))) {
      return Error{label + "maps the draft's token " + std::to_string(i) + " to " +
                   std::to_string(token) + ", expected a token of the target, from 0 to " +
                   std::to_string(target_vocab - 1)};
    }
    const auto id = static_cast<Token>(token);
    if (taken[static_cast<size_t>(id)]) {
      return Error{label + "maps the draft's token " + std::to_string(i) + " to " +
                   std::to_string(id) + ", where another one is mapped to, expected one each"};
    }
    taken[static_cast<size_t>(id)] = true;
    tokens.push_back(id);
  }
  return tokens;
}

}  // namespace

Result<std::unique_ptr<Eagle3Net>> Eagle3Net::Load(std::unique_ptr<DraftFile> file, Model& target,
                                                   const DraftTokenRule& rule) {
  const ModelConfig& config = file->config();
  const Eagle3Spec spec{config.hidden, target.config().vocab, config.vocab};
  FT_RETURN_IF_ERROR(CheckSizes(config, target.config(), file->path()));
  FT_ASSIGN_OR_RETURN(std::vector<int> taps, TapsOf(*file, target.config().layers));
  Weights weights;
  weights.source = NewFileWeights(*file, target.backend());
  FT_ASSIGN_OR_RETURN(std::vector<Token> tokens,
                      TokensOf(*file, *weights.source, target.backend(), spec));
  WeightLoader loader(*weights.source);
  if (!file->info().Shares(kSharedEmbedding)) {
    weights.embedding = LoadMatrix(loader, spec.Embedding());
  }
  weights.fc = LoadMatrix(loader, spec.Projection());
  weights.embedding_norm = LoadVector(loader, spec.EmbeddingNorm());
  weights.feature_norm = LoadVector(loader, spec.FeatureNorm());
  weights.layers.push_back(
      loader.Layer(config, 0, /*attention_norm=*/false, spec.AttentionInput()));
  weights.norm = LoadVector(loader, spec.Norm());
  FT_RETURN_IF_ERROR(loader.status());
  const TensorSpec matrix = spec.Head();
  const HeadSpec head_spec{.names = {matrix.name},
                           .rows = matrix.rows(),
                           .cols = matrix.cols(),
                           .tokens = std::move(tokens)};
  FT_ASSIGN_OR_RETURN(DraftHead head, DraftHead::Load(rule, head_spec, *file, *weights.source,
                                                      target, WeightBytes(weights.layers)));
  return std::unique_ptr<Eagle3Net>(
      new Eagle3Net(std::move(file), std::move(weights), std::move(taps), std::move(head), target));
}

Eagle3Net::Eagle3Net(std::unique_ptr<DraftFile> file, Weights weights, std::vector<int> taps,
                     DraftHead head, Model& target)
    : file_(std::move(file)),
      weights_(std::move(weights)),
      taps_(std::move(taps)),
      head_(std::move(head)),
      target_(target),
      layers_(file_->config(), std::move(weights_.layers), target.backend(), target.max_rows()) {}

DraftPrior Eagle3Net::Prior() const {
  return PriorOf(*file_, layers_.weight_bytes() + head_.bytes(), head_.size());
}

Status Eagle3Net::Fuse(std::span<const Tensor> taps, std::span<const Node> rows, Tensor to) {
  FT_CHECK(taps.size() == kTaps);
  const int64_t width = hidden();
  FT_ASSIGN_OR_RETURN(const Tensor input, ReserveRows(backend(), static_cast<int>(rows.size()),
                                                      kTaps * width, tapped_));
  for (int i = 0; i < kTaps; ++i) backend().Gather(taps[i], rows, input.Cols(i * width, width));
  backend().Linear(input, std::array{LinearOut{.weight = weights_.fc.get(), .out = to}});
  return {};
}

Result<Tensor> Eagle3Net::Features(int rows) {
  return ReserveRows(backend(), rows, hidden(), features_);
}

Result<Tensor> Eagle3Net::Forward(const RowBatch& batch, std::span<KvCache* const> caches) {
  FT_ASSIGN_OR_RETURN(const Tensor input, BeginPass(batch, caches));
  layers_.Run(0, input);
  return layers_.residual().Rows(0, batch.rows());
}

Result<Tensor> Eagle3Net::ForwardForLast(const RowBatch& batch, std::span<KvCache* const> caches) {
  FT_ASSIGN_OR_RETURN(const Tensor input, BeginPass(batch, caches));
  return layers_.RunForLast(0, input);
}

// Begins a pass and fills the residual stream; returns the input of the layer's attention.
Result<Tensor> Eagle3Net::BeginPass(const RowBatch& batch, std::span<KvCache* const> caches) {
  FT_RETURN_IF_ERROR(layers_.Begin(batch, caches));
  const int rows = batch.rows();
  const int64_t width = hidden();
  const float eps = layers_.config().norm_eps;
  const Tensor residual = layers_.residual().Rows(0, rows);
  backend().StoreRows(features_.tensor.Rows(0, rows), residual);
  FT_ASSIGN_OR_RETURN(const Tensor input, ReserveRows(backend(), rows, 2 * width, input_));
  const Tensor embedded = input.Cols(0, width);
  const Weight& table = weights_.embedding ? *weights_.embedding : target_.Embedding();
  backend().Embed(table, batch.token, embedded);
  backend().RmsNorm(embedded, weights_.embedding_norm.tensor, eps, embedded);
  backend().RmsNorm(residual, weights_.feature_norm.tensor, eps, input.Cols(width, width));
  return input;
}

Result<Tensor> Eagle3Net::Logits(Tensor outputs) {
  return head_.Logits({outputs, weights_.norm.tensor, layers_.config().norm_eps});
}

}  // namespace foretoken
