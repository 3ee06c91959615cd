#include "target.h"

#include <filesystem>
#include <map>
#include <system_error>

#include "base/json.h"
#include "data_ranking.h"
#include "device.h"
#include "io/convert.h"
#include "io/hf_names.h"
#include "workers.h"

namespace foretoken::train {
namespace {

using torch::Tensor;

// Reorders the rows of q or k from GGUF's interleaved RoPE order to Hugging Face's half-split
// order.
Tensor HalfSplit(const Tensor& interleaved, int64_t head_dim, int64_t rope_dim) {
  Tensor rows = torch::empty({interleaved.size(0)}, torch::kInt64);
  for (int64_t r = 0; r < rows.size(0); ++r) rows[HalfSplitRow(r, head_dim, rope_dim)] = r;
  return interleaved.index_select(0, rows);
}

// Returns an initializer that reads the file's tensor of a weight, which has its Hugging Face name,
// as f32. The initializer throws if the tensor is missing or has values that are not finite.
Initializer FileWeights(const ModelFile& file) {
  return [&file](const NewWeight& weight) {
    const std::string name = GgufTensorName(weight.name);
    const Result<TensorSource> source = file.Find(name, weight.shape);
    TORCH_CHECK(source.ok(), source.ok() ? "" : source.error().message);
    Tensor value = torch::empty(weight.shape);
    Dequantize(source->type, source->bytes.data(),
               {value.data_ptr<float>(), static_cast<size_t>(value.numel())});
    file.Release(*source);
    TORCH_CHECK(torch::isfinite(value).all().item<bool>(), file.path(), ": tensor '", name,
                "' holds values that are not finite, so no draft can be trained for this target");
    bool is_rotated = false;
    for (const char* suffix : {"attn_q.weight", "attn_k.weight", "attn_q.bias", "attn_k.bias"}) {
      is_rotated = is_rotated || name.ends_with(suffix);
    }
    const ModelConfig& config = file.config();
    return is_rotated && config.rope_interleaved
               ? HalfSplit(value, config.head_dim, config.rope_dim)
               : value;
  };
}

// Returns the path of this worker's feature file.
std::string FeaturePath(const TrainOptions& options) {
  std::string path = options.out + "/features";
  if (options.rank != 0) path.append(".").append(std::to_string(options.rank));
  return path.append(".bin");
}

}  // namespace

Result<std::unique_ptr<FrozenTarget>> FrozenTarget::Open(const std::string& path,
                                                         torch::ScalarType compute,
                                                         torch::Device device) {
  FT_ASSIGN_OR_RETURN(std::unique_ptr<ModelFile> file, ModelFile::Open(path));
  WeightOptions options{compute, device, FileWeights(*file), true};
  const LlamaShape shape = ShapeOf(file->config());
  try {
    return std::unique_ptr<FrozenTarget>(
        new FrozenTarget(std::move(file), shape, std::move(options)));
  } catch (const c10::Error& fault) {
    return Error{fault.what_without_backtrace()};
  }
}

Status FrozenTarget::UseCache(const std::string& path, uint64_t limit, bool report,
                              int reader_threads, bool reads_ahead) {
  const Json owner = FeatureOwner(*file_, c10::toString(model_.weights().compute()));
  FT_ASSIGN_OR_RETURN(std::unique_ptr<FeatureFile> file, FeatureFile::Open(path, owner, limit));
  if (reader_threads > 0) {
    FT_ASSIGN_OR_RETURN(engine_, EngineTarget::Open(*file_, reader_threads));
  }
  try {
    cache_ = std::make_unique<FeatureCache>(std::move(file), report, reader_threads, reads_ahead);
  } catch (const std::system_error& fault) {
    return Error{std::string("cannot start a thread that reads the data: ") + fault.what()};
  }
  return {};
}

// Returns what `compute` returns for the batch, or, if the target reads the documents of its
// pieces, their rows of what `compute` returns for those.
std::vector<Tensor> FrozenTarget::Rows(const Batch& batch, const std::string& computation,
                                       const std::vector<RowForm>& forms, const RowsOf& compute) {
  torch::NoGradGuard no_grad;
  if (cache_ != nullptr) return cache_->Rows(batch, computation, forms, compute);
  if (batch.read.empty()) return compute(batch);
  std::vector<Tensor> rows;
  for (const RowForm& form : forms) {
    rows.push_back(torch::zeros({batch.ids.size(0), form.width},
                                torch::dtype(form.type).device(batch.ids.device())));
  }
  std::map<const uint32_t*, std::vector<Tensor>> documents;
  for (const ReadPiece& piece : batch.read) {
    std::vector<Tensor>& document = documents[piece.document.data()];
    if (document.empty()) document = compute(DocumentOf(piece, batch.ids.device()));
    CopyPiece(document, piece, rows);
  }
  return rows;
}

Tensor FrozenTarget::Features(const Batch& batch, HiddenState* tap) {
  const torch::ScalarType type = model_.weights().compute();
  std::string computation = "features";
  std::vector<RowForm> forms = {{shape().hidden, type}};
  std::vector<int> indices = {static_cast<int>(shape().layers)};
  if (tap != nullptr) {
    computation += " and state " + std::to_string(tap->index);
    forms.push_back({shape().hidden, torch::kFloat32});
    indices.push_back(static_cast<int>(tap->index));
  }
  RowsOf compute;
  if (engine_ != nullptr && !batch.read.empty()) {
    computation += " of the engine";
    compute = [this, type, indices](const Batch& of) {
      std::vector<Tensor> computed = engine_->HiddenStates(of, indices);
      computed[0] = computed[0].to(type);
      return computed;
    };
  } else {
    compute = [this, indices](const Batch& of) {
      HiddenState state{indices.back(), {}};
      std::vector<Tensor> computed = {model_.Features(of, indices.size() > 1 ? &state : nullptr)};
      if (indices.size() > 1) computed.push_back(state.value);
      return computed;
    };
  }
  const std::vector<Tensor> rows = Rows(batch, computation, forms, compute);
  if (tap != nullptr) tap->value = rows[1];
  return rows[0];
}

std::vector<Tensor> FrozenTarget::KeysValues(const Batch& batch, std::span<const int> layers) {
  std::string computation = "keys and values";
  for (const int layer : layers) computation.append(" ").append(std::to_string(layer));
  const RowForm form{2 * shape().kv_heads * shape().head_dim, model_.weights().compute()};
  return Rows(batch, computation, std::vector<RowForm>(layers.size(), form),
              [this, kept = std::vector<int>(layers.begin(), layers.end())](const Batch& of) {
                return model_.KeysValues(of, kept);
              });
}

Tensor FrozenTarget::Embeddings(const Tensor& ids) const {
  torch::NoGradGuard no_grad;
  return model_.embedding().index_select(0, ids).to(model_.head().compute.scalar_type());
}

Tensor FrozenTarget::LastLayer(const std::string& name, const std::vector<int64_t>& shape) const {
  const std::string layer = std::to_string(file_->config().layers - 1);
  return FileWeights(*file_)({"model.layers." + layer + "." + name, 0, shape, 0.0});
}

double FrozenTarget::FeatureFlops(int64_t rows, int64_t length) const {
  return model_.ForwardFlops(rows, length);
}

Result<DraftPreparation> PrepareDraft(const TrainOptions& options, torch::Device device) {
  Recipe recipe = options.recipe;
  if (recipe.Text("target").empty()) return Error{"--target is missing"};
  FT_ASSIGN_OR_RETURN(std::shared_ptr<FrozenTarget> target,
                      FrozenTarget::Open(recipe.Text("target"), ComputeType(recipe), device));
  if (recipe.feature_cache > 0) {
    const auto limit = static_cast<uint64_t>(recipe.feature_cache / recipe.workers);
    const ThreadShares threads = ThreadSharesOf(recipe);
    FT_RETURN_IF_ERROR(target->UseCache(FeaturePath(options), limit, !options.quiet,
                                        threads.reading, threads.reads_ahead));
  }
  const LlamaShape& s = target->shape();
  recipe.vocab = s.vocab;
  recipe.layers = s.layers;
  recipe.hidden = s.hidden;
  recipe.ffn = s.ffn;
  recipe.heads = s.heads;
  recipe.kv_heads = s.kv_heads;
  recipe.head_dim = s.head_dim;
  recipe.context = s.context;
  recipe.norm_eps = s.norm_eps;
  recipe.rope_base = s.rope_base;
  recipe.tied_embeddings = s.tied_embeddings;
  recipe.pre = target->file().tokenizer().pre;
  recipe.settings["target"] = std::filesystem::absolute(recipe.Text("target")).string();
  FT_ASSIGN_OR_RETURN(PreparedData data,
                      PrepareData(recipe, options.data_base, options.out, options.quiet,
                                  &target->file().tokenizer(), options.kept));
  TokenRanking ranking = RankData(data.corpus, static_cast<int>(s.vocab));
  if (const auto scored = recipe.settings.find(kScoredTokens); scored != recipe.settings.end()) {
    const auto count = static_cast<int64_t>(recipe.Number(kScoredTokens));
    if (count > 0 && count < s.vocab) target->Score(CommonTokens(ranking, count));
  }
  if (!IsWorker()) FT_RETURN_IF_ERROR(WriteDataRanking(ranking, target->file(), options.out));
  return DraftPreparation{std::move(recipe), std::move(data.corpus), std::move(target)};
}

Prepared StartOf(DraftPreparation& draft) {
  return {std::move(draft.recipe), std::move(draft.corpus), nullptr,
          [target = draft.target] { return target->reading(); }};
}

}  // namespace foretoken::train
