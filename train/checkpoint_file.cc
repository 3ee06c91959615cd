#include "checkpoint_file.h"

#include "base/json.h"
#include "base/output_file.h"
#include "io/safetensors.h"

namespace foretoken::train {
namespace {

constexpr const char* kInfo = "foretoken.state";

}  // namespace

std::string CheckpointPath(const std::string& directory) {
  return directory + "/checkpoint.safetensors";
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
  std::string text = JsonText(header);
  text.resize((text.size() + 7) / 8 * 8, ' ');
  const uint64_t size = text.size();
  std::string file(reinterpret_cast<const char*>(&size), sizeof(size));
  file.reserve(sizeof(size) + text.size() + offset);
  file += text;
  for (const TensorRecord& t : tensors) file += t.bytes;
  return WriteFileAtomically(path, file);
}

TensorRecord InfoRecord(const CheckpointInfo& info) {
  const RunState& s = info.state;
  const Json json = {{"recipe", RecipeToJson(info.recipe)},
                     {"step", s.step},
                     {"sequences", s.sequences},
                     {"tokens", s.tokens},
                     {"seconds", s.seconds},
                     {"heldout", s.heldout}};
  const std::string text = JsonText(json);
  return {kInfo, "U8", {static_cast<int64_t>(text.size())}, text};
}

Result<CheckpointInfo> ReadCheckpointInfo(const std::string& directory) {
  const std::string path = CheckpointPath(directory);
  FT_ASSIGN_OR_RETURN(const SafetensorsFile file, SafetensorsFile::Open(path));
  const SafetensorsEntry* entry = file.Find(kInfo);
  if (entry == nullptr) return Error{path + ": no tensor '" + std::string(kInfo) + "'"};
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

}  // namespace foretoken::train
