#include "checkpoint.h"

#include <algorithm>
#include <filesystem>

#include "io/draft_file.h"
#include "io/dtype.h"
#include "io/safetensors.h"
#include "io/torch/torch_file.h"

namespace foretoken::train {
namespace {

Status CheckFinite(const std::string& where, const std::string& name, const torch::Tensor& values) {
  if (torch::isfinite(values.detach()).all().item<bool>()) return {};
  return Error{where + ": tensor '" + name + "' holds values that are not finite"};
}

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
                 "' has an unsupported type, or a shape that differs from the recipe's"};
  }
  torch::Tensor values = torch::empty(expected);
  Dequantize(*type, entry->bytes.data(),
             {values.data_ptr<float>(), static_cast<size_t>(values.numel())});
  FT_RETURN_IF_ERROR(CheckFinite(file.path(), name, values));
  const torch::NoGradGuard no_grad;
  target.copy_(values);
  return {};
}

bool HasParameter(const WeightSet& weights, const std::string& name) {
  return std::ranges::any_of(weights.parameters(),
                             [&](const NamedParameter& p) { return p.name == name; });
}

// Checks that the model has every weight of a checkpoint.
Status CheckHasWeightsOf(const SafetensorsFile& file, const WeightSet& weights) {
  for (const SafetensorsEntry& entry : file.entries()) {
    if (!IsWeight(entry) || HasParameter(weights, entry.name)) continue;
    return Error{file.path() + ": tensor '" + entry.name +
                 "' has no place in a model with the recipe's settings"};
  }
  return {};
}

// Returns the biases that a source of weights has, by `has(name)`, and the model lacks for modules
// whose weights it has.
template <typename Has>
std::vector<std::string> BiasesLeftOut(const WeightSet& weights, const Has& has) {
  constexpr std::string_view kWeight = ".weight";
  std::vector<std::string> left_out;
  for (const NamedParameter& p : weights.parameters()) {
    if (!p.name.ends_with(kWeight)) continue;
    const std::string bias = p.name.substr(0, p.name.size() - kWeight.size()) + ".bias";
    if (!HasParameter(weights, bias) && has(bias)) left_out.push_back(bias);
  }
  return left_out;
}

// Copies weights by their published names. A bias that the file lacks (published drafts may have
// none) stays zero. Returns the biases that are left out.
template <typename File>
Result<std::vector<std::string>> CopyWeights(const Result<File>& file, WeightSet& weights) {
  if (!file.ok()) return file.error();
  const auto has = [&](const std::string& name) {
    return FindEntry(file->entries(), name) != nullptr;
  };
  for (const NamedParameter& p : weights.parameters()) {
    if (p.name.ends_with(".bias") && !has(p.name)) continue;
    FT_RETURN_IF_ERROR(CopyInto(*file, p.name, p.value));
  }
  weights.Refresh();
  return BiasesLeftOut(weights, has);
}

// Copies the weights of a draft file. A bias that the file lacks stays zero. Returns the biases
// that are left out.
Result<std::vector<std::string>> CopyDraft(const std::string& path, NameInDraft name_in_draft,
                                           WeightSet& weights) {
  FT_ASSIGN_OR_RETURN(const auto file, DraftFile::Open(path));
  if (name_in_draft == nullptr) {
    return Error{path + ": this method cannot begin with a draft file, expected a run's folder"};
  }
  const torch::NoGradGuard no_grad;
  for (const NamedParameter& p : weights.parameters()) {
    const std::string name = name_in_draft(p.name);
    if (p.name.ends_with(".bias") && !file->Has(name)) continue;
    const std::vector<int64_t> expected = p.value.sizes().vec();
    FT_ASSIGN_OR_RETURN(const TensorSource source, file->Find(name, expected));
    torch::Tensor values = torch::empty(expected);
    Dequantize(source.type, source.bytes.data(),
               {values.data_ptr<float>(), static_cast<size_t>(values.numel())});
    FT_RETURN_IF_ERROR(CheckFinite(path, name, values));
    torch::Tensor(p.value).copy_(values);
  }
  weights.Refresh();
  return BiasesLeftOut(weights,
                       [&](const std::string& name) { return file->Has(name_in_draft(name)); });
}

}  // namespace

Status SaveCheckpoint(const std::string& directory, const CheckpointInfo& info,
                      const WeightSet& weights, Optimizer& optimizer, WeightAverage& average) {
  const std::string path = CheckpointPath(directory);
  std::vector<TensorRecord> tensors = {InfoRecord(info)};
  Status finite;
  const auto add = [&](const std::string& name, const torch::Tensor& values) {
    if (finite.ok()) finite = CheckFinite(path + ": is not written", name, values);
    tensors.push_back(FloatRecord(name, values));
  };
  for (size_t i = 0; i < weights.parameters().size(); ++i) {
    const NamedParameter& p = weights.parameters()[i];
    add(p.name, average.on() ? average.values()[i] : p.value);
    if (average.on()) add(kLiveWeight + p.name, p.value);
    add(kFirstMoment + p.name, optimizer.first()[i]);
    if (optimizer.second()[i].defined()) add(kSecondMoment + p.name, optimizer.second()[i]);
  }
  FT_RETURN_IF_ERROR(finite);
  return WriteSafetensors(path, tensors);
}

Status LoadCheckpoint(const std::string& directory, WeightSet& weights, Optimizer& optimizer,
                      WeightAverage& average) {
  FT_ASSIGN_OR_RETURN(const SafetensorsFile file, SafetensorsFile::Open(CheckpointPath(directory)));
  FT_RETURN_IF_ERROR(CheckHasWeightsOf(file, weights));
  for (size_t i = 0; i < weights.parameters().size(); ++i) {
    const NamedParameter& p = weights.parameters()[i];
    const torch::Tensor exported = average.on() ? average.values()[i] : p.value;
    FT_RETURN_IF_ERROR(CopyInto(file, p.name, exported));
    if (average.on()) FT_RETURN_IF_ERROR(CopyInto(file, kLiveWeight + p.name, p.value));
    FT_RETURN_IF_ERROR(CopyInto(file, kFirstMoment + p.name, optimizer.first()[i]));
    const torch::Tensor& second = optimizer.second()[i];
    if (second.defined()) FT_RETURN_IF_ERROR(CopyInto(file, kSecondMoment + p.name, second));
  }
  weights.Refresh();
  return {};
}

Result<std::vector<std::string>> LoadWeights(const std::string& from, NameInDraft name_in_draft,
                                             WeightSet& weights) {
  const bool is_run = std::filesystem::is_directory(from);
  if (!is_run && from.ends_with(".gguf")) return CopyDraft(from, name_in_draft, weights);
  if (!is_run && !from.ends_with(".safetensors")) {
    return CopyWeights(TorchFile::Open(from), weights);
  }
  const std::string path = is_run ? CheckpointPath(from) : from;
  FT_RETURN_IF_ERROR(CheckSafetensors(path));
  return CopyWeights(SafetensorsFile::Open(path), weights);
}

}  // namespace foretoken::train
