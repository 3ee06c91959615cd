#include "checkpoint.h"

#include <cstring>

#include "base/json.h"
#include "base/mapped_file.h"
#include "io/safetensors.h"

namespace foretoken::train {
namespace {

constexpr const char* kState = "foretoken.state";

Json StateToJson(const Recipe& recipe, const RunState& s) {
  return Json{{"recipe", RecipeToJson(recipe)}, {"step", s.step},
              {"sequences", s.sequences},       {"tokens", s.tokens},
              {"seconds", s.seconds},           {"heldout", s.heldout}};
}

Status CopyInto(const SafetensorsFile& file, const std::string& name, torch::Tensor target) {
  const SafetensorsEntry* entry = file.Find(name);
  if (entry == nullptr) return Error{file.path() + ": no tensor '" + name + "'"};
  const std::vector<int64_t> expected = target.sizes().vec();
  if (entry->dtype != "F32" || entry->shape != expected) {
    return Error{file.path() + ": tensor '" + name + "' has another type or shape than the recipe's"};
  }
  torch::Tensor values = torch::empty(expected);
  std::memcpy(values.data_ptr<float>(), entry->bytes.data(), entry->bytes.size());
  torch::NoGradGuard no_grad;
  target.copy_(values);
  return {};
}

}  // namespace

std::string CheckpointPath(const std::string& directory) {
  return directory + "/checkpoint.safetensors";
}

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

TensorRecord FloatRecord(const std::string& name, const torch::Tensor& values) {
  const torch::Tensor host = values.detach().to(torch::kCPU, torch::kFloat32).contiguous();
  const auto* data = reinterpret_cast<const char*>(host.data_ptr<float>());
  return {name, "F32", host.sizes().vec(), std::string(data, host.nbytes())};
}

Status WriteSafetensors(const std::string& path, const std::vector<TensorRecord>& tensors) {
  Json header = Json::object();
  header["__metadata__"] = {{"format", "pt"}};
  size_t offset = 0;
  for (const TensorRecord& t : tensors) {
    header[t.name] = {{"dtype", t.dtype},
                      {"shape", t.shape},
                      {"data_offsets", {offset, offset + t.bytes.size()}}};
    offset += t.bytes.size();
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  const uint64_t size = text.size();
  std::string file(reinterpret_cast<const char*>(&size), sizeof(size));
  file.reserve(sizeof(size) + text.size() + offset);
  file += text;
  for (const TensorRecord& t : tensors) file += t.bytes;
  return WriteFileAtomically(path, file);
}

Status SaveCheckpoint(const std::string& directory, const Recipe& recipe, const RunState& state,
                      const Llama& model, AdamW& optimizer) {
  const std::string json = StateToJson(recipe, state).dump();
  std::vector<TensorRecord> tensors;
  tensors.push_back({kState, "U8", {static_cast<int64_t>(json.size())}, json});
  for (size_t i = 0; i < model.parameters().size(); ++i) {
    const NamedParameter& p = model.parameters()[i];
    tensors.push_back(FloatRecord(p.name, p.value));
    tensors.push_back(FloatRecord("first." + p.name, optimizer.first()[i]));
    tensors.push_back(FloatRecord("second." + p.name, optimizer.second()[i]));
  }
  return WriteSafetensors(CheckpointPath(directory), tensors);
}

Result<CheckpointInfo> ReadCheckpointInfo(const std::string& directory) {
  const std::string path = CheckpointPath(directory);
  FT_ASSIGN_OR_RETURN(const SafetensorsFile file, SafetensorsFile::Open(path));
  const SafetensorsEntry* entry = file.Find(kState);
  if (entry == nullptr) return Error{path + ": no tensor '" + std::string(kState) + "'"};
  const std::string_view text(reinterpret_cast<const char*>(entry->bytes.data()),
                              entry->bytes.size());
  FT_ASSIGN_OR_RETURN(const Json json, ParseJson(text, path));
  CheckpointInfo info;
  if (!json.is_object() || !json.contains("recipe")) return Error{path + ": no recipe"};
  FT_RETURN_IF_ERROR(ReadRecipe(json["recipe"], path, info.recipe));
  FT_RETURN_IF_ERROR(CheckRecipe(info.recipe));
  info.state.step = json.value("step", int64_t{0});
  info.state.sequences = json.value("sequences", int64_t{0});
  info.state.tokens = json.value("tokens", int64_t{0});
  info.state.seconds = json.value("seconds", 0.0);
  info.state.heldout = json.value("heldout", 0.0);
  return info;
}

Status LoadCheckpoint(const std::string& directory, Llama& model, AdamW* optimizer) {
  FT_ASSIGN_OR_RETURN(const SafetensorsFile file, SafetensorsFile::Open(CheckpointPath(directory)));
  for (size_t i = 0; i < model.parameters().size(); ++i) {
    const NamedParameter& p = model.parameters()[i];
    FT_RETURN_IF_ERROR(CopyInto(file, p.name, p.value));
    if (optimizer == nullptr) continue;
    FT_RETURN_IF_ERROR(CopyInto(file, "first." + p.name, optimizer->first()[i]));
    FT_RETURN_IF_ERROR(CopyInto(file, "second." + p.name, optimizer->second()[i]));
  }
  model.Refresh();
  return {};
}

}  // namespace foretoken::train
