#include "export.h"

#include "base/json.h"
#include "base/thread_pool.h"
#include "checkpoint_file.h"
#include "corpus_file.h"
#include "io/convert.h"
#include "io/hf_names.h"
#include "io/safetensors.h"

namespace foretoken::train {
namespace {

// A checkpoint's weights as a model file in Hugging Face's layout, without the optimiser's moments.
class CheckpointModel : public ModelFile {
 public:
  CheckpointModel(SafetensorsFile file, ModelConfig config, TokenizerData tokenizer)
      : file_(std::move(file)), config_(std::move(config)), tokenizer_(std::move(tokenizer)) {
    for (const SafetensorsEntry& entry : file_.entries()) {
      const std::string name = GgufTensorName(entry.name);
      if (name.empty() || entry.dtype != "F32") continue;
      tensors_.push_back({name, DType::kF32, entry.shape, entry.bytes});
    }
  }

  const std::string& path() const override { return file_.path(); }
  uint64_t file_bytes() const override { return file_.size(); }
  const ModelConfig& config() const override { return config_; }
  const TokenizerData& tokenizer() const override { return tokenizer_; }
  const GenerationDefaults& generation() const override { return generation_; }
  std::span<const TensorSource> tensors() const override { return tensors_; }
  void Release(const TensorSource& tensor) const override { file_.Release(tensor.bytes); }

 private:
  SafetensorsFile file_;
  ModelConfig config_;
  TokenizerData tokenizer_;
  GenerationDefaults generation_;
  std::vector<TensorSource> tensors_;
};

void WriteRecord(const CheckpointInfo& info, GgufWriter& writer) {
  const Recipe& r = info.recipe;
  writer.SetString("general.type", "model");
  if (!r.author.empty()) writer.SetString("general.author", r.author);
  writer.SetString("general.license", r.license);
  if (!r.description.empty()) writer.SetString("general.description", r.description);
  if (!r.datasets.empty()) writer.SetStrings("general.datasets", r.datasets);
  writer.SetU64("foretoken.train.steps", static_cast<uint64_t>(info.state.step));
  writer.SetU64("foretoken.train.tokens", static_cast<uint64_t>(info.state.tokens));
  writer.SetF32("foretoken.train.seconds", static_cast<float>(info.state.seconds));
  if (info.state.heldout > 0.0) {
    writer.SetF32("foretoken.train.heldout_loss", static_cast<float>(info.state.heldout));
  }
  writer.SetString("foretoken.train.recipe", JsonText(RecipeRecord(r)));
}

}  // namespace

ModelConfig ConfigOf(const Recipe& r) {
  ModelConfig c;
  c.architecture = "llama";
  c.name = r.name;
  c.vocab = static_cast<int>(r.vocab);
  c.layers = static_cast<int>(r.layers);
  c.hidden = static_cast<int>(r.hidden);
  c.ffn = static_cast<int>(r.ffn);
  c.heads = static_cast<int>(r.heads);
  c.kv_heads = static_cast<int>(r.kv_heads);
  c.head_dim = c.rope_dim = static_cast<int>(r.head_dim);
  c.context = static_cast<int>(r.context);
  c.norm_eps = static_cast<float>(r.norm_eps);
  c.rope_base = static_cast<float>(r.rope_base);
  c.tied_embeddings = r.tied_embeddings;
  return c;
}

Status ExportGguf(const std::string& checkpoint, const std::string& path, FileType type) {
  FT_ASSIGN_OR_RETURN(const CheckpointInfo info, ReadCheckpointInfo(checkpoint));
  FT_ASSIGN_OR_RETURN(TokenizerData tokenizer, LoadTokenizer(checkpoint));
  FT_ASSIGN_OR_RETURN(SafetensorsFile file, SafetensorsFile::Open(CheckpointPath(checkpoint)));
  const CheckpointModel model(std::move(file), ConfigOf(info.recipe), std::move(tokenizer));
  FT_ASSIGN_OR_RETURN(const std::vector<TensorPlan> plans, PlanConversion(model, type));
  GgufWriter writer;
  WriteModelMetadata(model.config(), model.tokenizer(), writer);
  WriteRecord(info, writer);
  FT_ASSIGN_OR_RETURN(const auto pool, ThreadPool::Create(0));
  const auto release = [&](const TensorSource& tensor) { model.Release(tensor); };
  return WritePlanned(plans, type, *pool, release, writer, path, [](size_t, size_t) {});
}

}  // namespace foretoken::train
