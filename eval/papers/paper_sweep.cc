#include "eval/papers/paper_sweep.h"

#include <utility>

#include "base/json.h"

namespace foretoken {
namespace {

// Replaces `variable` in all strings of `json`, at any depth.
void Substitute(const std::string& variable, const std::string& value, Json& json) {
  if (json.is_structured()) {
    for (Json& part : json) Substitute(variable, value, part);
  }
  if (!json.is_string()) return;
  std::string text = json.get<std::string>();
  for (size_t at = 0; (at = text.find(variable, at)) != std::string::npos; at += value.size()) {
    text.replace(at, variable.size(), value);
  }
  json = std::move(text);
}

Result<std::vector<std::string>> ValuesOf(const Json& json, const std::string& where, int layers) {
  std::vector<std::string> values;
  if (json == "layers" || json == "layers from 0") {
    const int first = json == "layers" ? 1 : 0;
    values.reserve(static_cast<size_t>(layers));
    for (int i = 0; i < layers; ++i) values.push_back(std::to_string(first + i));
    return values;
  }
  if (!json.is_array() || json.empty()) {
    return Error{where + ": found " + JsonText(json) +
                 R"(, expected a list, "layers" or "layers from 0")"};
  }
  values.reserve(json.size());
  for (const Json& value : json) {
    values.push_back(value.is_string() ? value.get<std::string>() : JsonText(value));
  }
  return values;
}

}  // namespace

Result<std::vector<Json>> ExpandSweeps(const Json& list, const std::string& where, int layers) {
  if (!list.is_array()) return Error{where + ": found " + JsonText(list) + ", expected a list"};
  std::vector<Json> expanded;
  for (size_t i = 0; i < list.size(); ++i) {
    const Json& entry = list[i];
    if (!entry.is_object() || !entry.contains("for")) {
      expanded.push_back(entry);
      continue;
    }
    const std::string place = where + "[" + std::to_string(i) + "].for";
    if (!entry["for"].is_object()) {
      return Error{place + ": found " + JsonText(entry["for"]) + ", expected an object"};
    }
    std::vector<Json> variants{entry};
    variants[0].erase("for");
    for (const auto& [name, json] : entry["for"].items()) {
      FT_ASSIGN_OR_RETURN(const auto values,
                          ValuesOf(json, std::string(place).append(".").append(name), layers));
      std::vector<Json> next;
      next.reserve(variants.size() * values.size());
      for (const Json& variant : variants) {
        for (const std::string& value : values) {
          next.push_back(variant);
          Substitute("$" + name, value, next.back());
        }
      }
      variants = std::move(next);
    }
    expanded.insert(expanded.end(), variants.begin(), variants.end());
  }
  return expanded;
}

}  // namespace foretoken
