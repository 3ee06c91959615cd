#include "checkpoint.h"

#include <cstring>
#include <filesystem>

#include "io/dtype.h"
#include "io/safetensors.h"
#include "io/torch_file.h"

namespace foretoken::train {
namespace {

TensorRecord FloatRecord(const std::string& name, const torch::Tensor& values) {
  const torch::Tensor host = values.detach().to(torch::kCPU, torch::kFloat32).contiguous();
  const auto* data = reinterpret_cast<const char*>(host.data_ptr<float>());
  return {name, "F32", host.sizes().vec(), std::string(data, host.nbytes())};
}

template <typename File>
Status CopyInto(const File& file, const std::string& name, torch::Tensor target) {
  const SafetensorsEntry* entry = FindEntry(file.entries(), name);
  if (entry == nullptr) return Error{file.path() + ": no tensor '" + name + "'"};
  const std::vector<int64_t> expected = target.sizes().vec();
  const Result<DType> type = ParseDType(entry->dtype);
  if (!type.ok() || BlockElements(*type) != 1 || *type == DType::kI32 || entry->shape != expected) {
    return Error{file.path() + ": tensor '" + name +
                 "' has another type or shape than the recipe's"};
  }
  torch::Tensor values = torch::empty(expected);
  Dequantize(*type, entry->bytes.data(),
             {values.data_ptr<float>(), static_cast<size_t>(values.numel())});
  const torch::NoGradGuard no_grad;
  target.copy_(values);
  return {};
}

// A bias that the file lacks, as published drafts may, stays the zeros that it is.
template <typename File>
Status CopyWeights(const Result<File>& file, WeightSet& weights) {
  if (!file.ok()) return file.error();
  for (const NamedParameter& p : weights.parameters()) {
    if (p.name.ends_with(".bias") && FindEntry(file->entries(), p.name) == nullptr) continue;
    FT_RETURN_IF_ERROR(CopyInto(*file, p.name, p.value));
  }
  weights.Refresh();
  return {};
}

}  // namespace

LlamaShape ShapeOf(const Recipe& r) {
  LlamaShape s;
  s.vocab = r.vocab;
  s.layers = r.layers;
  s.hidden = r.hidden;
  s.ffn = r.ffn;
  s.heads = r.heads;
  s.kv_heads = r.kv_heads;
  s.head_dim = r.head_dim;
  s.context = r.context;
  s.norm_eps = r.norm_eps;
  s.rope_base = r.rope_base;
  s.tied_embeddings = r.tied_embeddings;
  return s;
}

Status SaveCheckpoint(const std::string& directory, const CheckpointInfo& info,
                      const WeightSet& weights, AdamW& optimizer, WeightAverage& average) {
  std::vector<TensorRecord> tensors = {InfoRecord(info)};
  for (size_t i = 0; i < weights.parameters().size(); ++i) {
    const NamedParameter& p = weights.parameters()[i];
    tensors.push_back(FloatRecord(p.name, average.on() ? average.values()[i] : p.value));
    if (average.on()) tensors.push_back(FloatRecord(kLiveWeight + p.name, p.value));
    tensors.push_back(FloatRecord(kFirstMoment + p.name, optimizer.first()[i]));
    tensors.push_back(FloatRecord(kSecondMoment + p.name, optimizer.second()[i]));
  }
  return WriteSafetensors(CheckpointPath(directory), tensors);
}

Status LoadCheckpoint(const std::string& directory, WeightSet& weights, AdamW& optimizer,
                      WeightAverage& average) {
  FT_ASSIGN_OR_RETURN(const SafetensorsFile file, SafetensorsFile::Open(CheckpointPath(directory)));
  for (size_t i = 0; i < weights.parameters().size(); ++i) {
    const NamedParameter& p = weights.parameters()[i];
    const torch::Tensor exported = average.on() ? average.values()[i] : p.value;
    FT_RETURN_IF_ERROR(CopyInto(file, p.name, exported));
    if (average.on()) FT_RETURN_IF_ERROR(CopyInto(file, kLiveWeight + p.name, p.value));
    FT_RETURN_IF_ERROR(CopyInto(file, kFirstMoment + p.name, optimizer.first()[i]));
    FT_RETURN_IF_ERROR(CopyInto(file, kSecondMoment + p.name, optimizer.second()[i]));
  }
  weights.Refresh();
  return {};
}

Status LoadWeights(const std::string& from, WeightSet& weights) {
  const bool is_run = std::filesystem::is_directory(from);
  if (!is_run && !from.ends_with(".safetensors")) {
    return CopyWeights(TorchFile::Open(from), weights);
  }
  return CopyWeights(SafetensorsFile::Open(is_run ? CheckpointPath(from) : from), weights);
}

}  // namespace foretoken::train
