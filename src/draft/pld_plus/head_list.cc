#include "draft/pld_plus/head_list.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "base/input_file.h"
#include "base/json.h"
#include "io/gguf.h"

namespace foretoken {
namespace {

std::vector<AttentionHead> EveryHead(int layers, int heads) {
  std::vector<AttentionHead> all;
  for (int layer = 0; layer < layers; ++layer) {
    for (int head = 0; head < heads; ++head) all.push_back({layer, head});
  }
  return all;
}

constexpr std::string_view kLayerPrefix = "layer:";

Error Bad(const std::string& found, const std::string& expected) {
  return Error{"drafter pld+a: option heads: found " + found + ", expected " + expected};
}

Result<AttentionHead> ReadHead(const Json& entry, int layers, int heads) {
  if (!entry.is_array() || entry.size() < 2 || !entry[0].is_number_integer() ||
      !entry[1].is_number_integer()) {
    return Bad(JsonText(entry), "[layer, head]");
  }
  const auto layer = entry[0].get<int64_t>(), head = entry[1].get<int64_t>();
  if (layer < 0 || layer >= layers || head < 0 || head >= heads) {
    return Bad(JsonText(entry), "a layer below " + std::to_string(layers) + " and a head below " +
                                    std::to_string(heads));
  }
  return AttentionHead{static_cast<int>(layer), static_cast<int>(head)};
}

// Reads "layer:3": every head of layer 3.
Result<std::vector<AttentionHead>> HeadsOfLayer(const std::string& text, int layers, int heads) {
  const std::string number = text.substr(kLayerPrefix.size());
  int layer = -1;
  const auto [end, fault] = std::from_chars(number.data(), number.data() + number.size(), layer);
  if (fault != std::errc() || end != number.data() + number.size() || layer < 0 ||
      layer >= layers) {
    return Bad("'" + text + "'", "layer:N with N below " + std::to_string(layers));
  }
  std::vector<AttentionHead> all;
  all.reserve(static_cast<size_t>(heads));
  for (int head = 0; head < heads; ++head) all.push_back({layer, head});
  return all;
}

}  // namespace

Result<std::vector<AttentionHead>> ReadHeadList(const Json* value, int top, int layers, int heads) {
  if (value == nullptr || *value == "all") return EveryHead(layers, heads);
  if (value->is_string() && value->get_ref<const std::string&>().starts_with(kLayerPrefix)) {
    return HeadsOfLayer(value->get<std::string>(), layers, heads);
  }
  if (value->is_string()) {
    const auto path = value->get<std::string>();
    FT_ASSIGN_OR_RETURN(const Json file, ReadJsonFile(path));
    Result<std::vector<AttentionHead>> list = Bad("a string in the file", "a list of heads");
    if (!file.is_string()) list = ReadHeadList(&file, top, layers, heads);
    if (!list.ok()) return Error{path + ": " + list.error().message};
    return list;
  }
  if (value->is_object() && value->contains("heads")) {
    const Json& list = value->at("heads");
    if (!list.is_array()) return Bad(JsonText(list), "an array under \"heads\"");
    return ReadHeadList(&list, top, layers, heads);
  }
  if (!value->is_array() || value->empty()) return Bad(JsonText(*value), "a list of heads");
  std::vector<AttentionHead> list;
  for (const Json& entry : *value) {
    if (static_cast<int>(list.size()) == top) break;
    FT_ASSIGN_OR_RETURN(const AttentionHead head, ReadHead(entry, layers, heads));
    if (std::find(list.begin(), list.end(), head) == list.end()) list.push_back(head);
  }
  std::stable_sort(list.begin(), list.end(), [](const AttentionHead& a, const AttentionHead& b) {
    return a.layer < b.layer;
  });
  return list;
}

Json HeadsOfModel(const std::string& path) {
  std::string beside = path + ".heads.json";
  if (FileExists(beside)) return beside;
  if (!path.ends_with(".gguf")) return nullptr;
  const Result<GgufFile> gguf = GgufFile::Open(path);
  if (!gguf.ok()) return nullptr;  // not an error: the model itself was loaded
  const auto flat = gguf->Ints("foretoken.pld_plus.heads");
  if (!flat.ok()) return nullptr;
  Json list = Json::array();
  for (size_t i = 0; i + 1 < flat->size(); i += 2) {
    list.push_back(Json::array({(*flat)[i], (*flat)[i + 1]}));
  }
  return list;
}

std::string NoHeadsRemark(const std::string& path) {
  if (path.empty()) return "";
  return "pld+a uses every attention head, which drafts worse than a few chosen heads: there is "
         "no " +
         path + ".heads.json; foretoken find-heads -m " + path + " writes it";
}

}  // namespace foretoken
