#include "io/hf_model.h"

#include <filesystem>
#include <map>
#include <set>
#include <unordered_set>

#include "base/input_file.h"
#include "base/json.h"
#include "base/legible.h"
#include "io/hf_config.h"
#include "io/hf_names.h"
#include "io/hf_tokenizer.h"
#include "io/model_limits.h"
#include "io/safetensors.h"
#include "io/tensor_layout.h"

namespace foretoken {
namespace {

// Whether `name` is a file name without folders, so that an index can only name files beside it.
bool IsPlainFileName(const std::string& name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos &&
         name.find('\0') == std::string::npos;
}

// The tensors of each shard, according to the index.
using Shards = std::map<std::string, std::vector<std::string>>;

Result<Shards> ReadShardIndex(const std::string& path) {
  FT_ASSIGN_OR_RETURN(const Json json, ReadJsonFile(path));
  const Json* map = nullptr;
  if (json.is_object() && json.contains("weight_map")) map = &json.at("weight_map");
  if (map == nullptr || !map->is_object() || map->empty()) {
    return Error{path + ": field 'weight_map' is no object of tensor names and file names"};
  }
  Shards shards;
  for (const auto& [tensor, file] : map->items()) {
    const std::string name = file.is_string() ? file.get<std::string>() : "";
    if (!IsPlainFileName(name)) {
      return Error{path + ": field 'weight_map' puts '" + Printable(tensor) + "' into '" +
                   Printable(name) + "', expected the name of a file beside the index"};
    }
    shards[name].push_back(tensor);
  }
  return shards;
}

Result<std::vector<SafetensorsFile>> OpenShards(const std::string& directory,
                                                const std::string& index) {
  FT_ASSIGN_OR_RETURN(const Shards shards, ReadShardIndex(index));
  std::vector<SafetensorsFile> files;
  for (const auto& [name, tensors] : shards) {
    FT_ASSIGN_OR_RETURN(SafetensorsFile file,
                        SafetensorsFile::Open(std::filesystem::path(directory) / name));
    std::unordered_set<std::string_view> held;
    for (const SafetensorsEntry& entry : file.entries()) held.insert(entry.name);
    for (const std::string& tensor : tensors) {
      if (held.contains(tensor)) continue;
      return Error{file.path() + ": tensor '" + Printable(tensor) + "' is missing, " + index +
                   " puts it here"};
    }
    files.push_back(std::move(file));
  }
  return files;
}

Result<std::vector<SafetensorsFile>> OpenWeights(const std::string& directory) {
  const std::string whole = directory + "/model.safetensors";
  const std::string index = directory + "/model.safetensors.index.json";
  if (!FileExists(whole) && FileExists(index)) return OpenShards(directory, index);
  if (!FileExists(whole)) {
    return Error{directory + ": has neither model.safetensors nor model.safetensors.index.json"};
  }
  std::vector<SafetensorsFile> files;
  FT_ASSIGN_OR_RETURN(SafetensorsFile file, SafetensorsFile::Open(whole));
  files.push_back(std::move(file));
  return files;
}

class HuggingFaceModel final : public ModelFile {
 public:
  static Result<std::unique_ptr<ModelFile>> Open(const std::string& directory) {
    auto model = std::make_unique<HuggingFaceModel>();
    model->path_ = directory;
    const std::string config_path = directory + "/config.json";
    FT_ASSIGN_OR_RETURN(const MappedFile text, MappedFile::Open(config_path));
    FT_ASSIGN_OR_RETURN(HfConfig config, ParseHfConfig(text.text(), config_path));
    FT_RETURN_IF_ERROR(model->ReadGeneration(config));
    FT_ASSIGN_OR_RETURN(model->tokenizer_, ReadHfTokenizer(directory, config));
    model->config_ = std::move(config.model);
    FT_ASSIGN_OR_RETURN(model->files_, OpenWeights(directory));
    FT_RETURN_IF_ERROR(model->NameTensors());
    FT_RETURN_IF_ERROR(
        DescribeTensors(model->tensors_, kHuggingFaceWords, directory, model->config_));
    FT_RETURN_IF_ERROR(CheckTensors(model->config_, model->tensors_, kHuggingFaceWords, directory));
    return std::unique_ptr<ModelFile>(std::move(model));
  }

  const std::string& path() const override { return path_; }
  uint64_t file_bytes() const override {
    uint64_t total = 0;
    for (const SafetensorsFile& file : files_) total += file.size();
    return total;
  }
  const ModelConfig& config() const override { return config_; }
  const TokenizerData& tokenizer() const override { return tokenizer_; }
  const GenerationDefaults& generation() const override { return generation_; }
  std::span<const TensorSource> tensors() const override { return tensors_; }
  std::string NameInFile(std::string_view name) const override {
    return HuggingFaceTensorName(name);
  }
  void Release(const TensorSource& tensor) const override {
    files_.front().Release(tensor.bytes);  // goes by address, so any file's Release will do
  }

 private:
  // Reads generation_config.json: the defaults of sampling, and ends of generation, which are added
  // to `config`.
  Status ReadGeneration(HfConfig& config) {
    const std::string path = path_ + "/generation_config.json";
    if (!FileExists(path)) return {};
    FT_ASSIGN_OR_RETURN(const MappedFile text, MappedFile::Open(path));
    FT_ASSIGN_OR_RETURN(const HfGeneration generation, ParseHfGeneration(text.text(), path));
    generation_ = generation.defaults;
    config.eos.insert(config.eos.end(), generation.eos.begin(), generation.eos.end());
    return {};
  }

  Status NameTensors() {
    std::unordered_set<std::string> names;
    for (const SafetensorsFile& file : files_) {
      for (const SafetensorsEntry& entry : file.entries()) {
        if (IsRedundantTensor(entry.name)) continue;
        std::string name = GgufTensorName(entry.name);
        // A tied model uses the embedding as its LM head even if the file holds another one.
        if (name == "output.weight" && config_.tied_embeddings) continue;
        if (name.empty()) {
          return Error{file.path() + ": tensor '" + Printable(entry.name) + "' has no place in a " +
                       config_.architecture + " model"};
        }
        if (!names.insert(name).second) {
          return Error{file.path() + ": tensor '" + entry.name + "' is in two files"};
        }
        FT_ASSIGN_OR_RETURN(TensorSource tensor,
                            TensorOfEntry(file.path(), entry, std::move(name)));
        tensors_.push_back(std::move(tensor));
      }
    }
    return {};
  }

  std::string path_;
  std::vector<SafetensorsFile> files_;
  ModelConfig config_;
  TokenizerData tokenizer_;
  GenerationDefaults generation_;
  std::vector<TensorSource> tensors_;
};

}  // namespace

Result<TensorSource> TensorOfEntry(const std::string& path, const SafetensorsEntry& entry,
                                   std::string name) {
  const std::string label = path + ": tensor '" + Printable(entry.name) + "' ";
  TensorSource tensor{std::move(name), DType::kF32, entry.shape, entry.bytes};
  if (entry.dtype == "F16") {
    tensor.type = DType::kF16;
  } else if (entry.dtype == "BF16") {
    tensor.type = DType::kBF16;
  } else if (entry.dtype != "F32") {
    return Error{label + "has type " + entry.dtype + ", expected F32, F16 or BF16"};
  }
  const Result<uint64_t> size = TensorBytes(tensor.type, tensor.shape);
  if (!size.ok()) return Error{label + size.error().message};
  return tensor;
}

Result<std::unique_ptr<ModelFile>> OpenHuggingFace(const std::string& directory) {
  return HuggingFaceModel::Open(directory);
}

}  // namespace foretoken
