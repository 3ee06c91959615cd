#include "recipe.h"

#include <charconv>
#include <filesystem>

#include "base/check.h"
#include "base/json.h"
#include "recipe_fields.h"

namespace foretoken::train {
namespace {

std::string Label(const std::string& origin, const std::string& name) {
  return origin + ": " + name;
}

// Whether `value` has the JSON type of the field.
bool HasJsonType(const ValueRange& range, const Json& value) {
  using Kind = ValueRange::Kind;
  switch (range.kind) {
    case Kind::kText:
    case Kind::kChoice:
      return value.is_string();
    case Kind::kSwitch:
      return value.is_boolean();
    case Kind::kWhole:
    case Kind::kNumber:
      return value.is_number();
    case Kind::kDuration:
    case Kind::kSize:
      return value.is_number() || value.is_string();
  }
  return false;
}

Status ReadField(const Field& field, const Json& value, const std::string& origin, Recipe& recipe) {
  const std::string label = Label(origin, field.name);
  if (!HasJsonType(field.range, value)) {
    return BadValue(label, JsonText(value), Expected(field.range));
  }
  const std::string text = value.is_string() ? value.get<std::string>() : JsonText(value);
  return SetFromText(field, label, text, recipe);
}

Result<DataSource> ReadSource(const Json& item, const std::string& label) {
  if (!item.is_object()) return BadValue(label, JsonText(item), "an object with files and weight");
  DataSource source;
  for (const auto& [key, value] : item.items()) {
    const std::string field = label + "." + key;
    if (key == "files") {
      if (!value.is_string()) return BadValue(field, JsonText(value), "a string");
      source.files = value.get<std::string>();
    } else if (key == "weight") {
      const std::string text = JsonText(value);
      if (!value.is_number()) return BadValue(field, text, Expected(kWeightRange));
      FT_ASSIGN_OR_RETURN(source.weight, ReadNumber(kWeightRange, field, text));
    } else {
      return Error{label + ": unknown field '" + std::string(key) + "', expected files and weight"};
    }
  }
  if (source.files.empty()) return Error{label + ": has no string field 'files'"};
  return source;
}

Status ReadData(const Json& list, const std::string& origin, Recipe& recipe) {
  if (!list.is_array()) return Error{origin + ": data is not a list"};
  recipe.data.clear();
  for (const Json& item : list) {
    const std::string label = Label(origin, "data[" + std::to_string(recipe.data.size()) + "]");
    FT_ASSIGN_OR_RETURN(DataSource source, ReadSource(item, label));
    recipe.data.push_back(std::move(source));
  }
  return {};
}

Status ReadSettings(const Json& object, const std::string& origin, Recipe& recipe) {
  if (!object.is_object()) return Error{origin + ": settings is not an object"};
  for (const auto& [key, value] : object.items()) {
    recipe.settings[key] = value.is_string() ? value.get<std::string>() : JsonText(value);
  }
  return {};
}

Status ReadDatasets(const Json& list, const std::string& origin, Recipe& recipe) {
  if (!list.is_array()) return Error{origin + ": datasets is not a list"};
  recipe.datasets.clear();
  recipe.datasets.reserve(list.size());
  for (const Json& line : list) {
    if (!line.is_string()) return Error{origin + ": an entry of datasets is not a string"};
    recipe.datasets.push_back(line.get<std::string>());
  }
  return {};
}

// Reads the mix `name`: a file with "data" and "datasets", relative to the folder of `origin`.
Status ReadMix(const Json& name, const std::string& origin, Recipe& recipe) {
  if (!name.is_string()) return Error{origin + ": mix is not the name of a file"};
  const auto folder = std::filesystem::path(origin).parent_path();
  const std::string path = (folder / name.get<std::string>()).string();
  FT_ASSIGN_OR_RETURN(const Json mix, ReadJsonFile(path));
  if (!mix.is_object()) return Error{path + ": a mix is a JSON object"};
  for (const auto& [key, value] : mix.items()) {
    if (key == "data" || key == "datasets") continue;
    return Error{path + ": a mix has data and datasets, found '" + std::string(key).append("'")};
  }
  return ReadRecipe(mix, path, recipe);
}

}  // namespace

double Recipe::Number(const std::string& setting) const {
  const std::string& text = settings.at(setting);
  const char* end = text.data() + text.size();
  double value = 0.0;
  FT_CHECK(std::from_chars(text.data(), end, value).ptr == end);
  return value;
}

const std::string& Recipe::Text(const std::string& setting) const { return settings.at(setting); }

Status ReadRecipe(const Json& json, const std::string& origin, Recipe& recipe) {
  if (!json.is_object()) return Error{origin + ": a recipe is a JSON object"};
  if (json.contains("mix") && (json.contains("data") || json.contains("datasets"))) {
    return Error{origin + ": mix stands for data and datasets; found it beside them"};
  }
  for (const auto& [key, value] : json.items()) {
    if (key == "data") {
      FT_RETURN_IF_ERROR(ReadData(value, origin, recipe));
    } else if (key == "settings") {
      FT_RETURN_IF_ERROR(ReadSettings(value, origin, recipe));
    } else if (key == "datasets") {
      FT_RETURN_IF_ERROR(ReadDatasets(value, origin, recipe));
    } else if (key == "mix") {
      FT_RETURN_IF_ERROR(ReadMix(value, origin, recipe));
    } else if (const Field* field = FindField(key)) {
      FT_RETURN_IF_ERROR(ReadField(*field, value, origin, recipe));
    } else {
      return Error{origin + ": unknown field '" + std::string(key).append("'")};
    }
  }
  return {};
}

Json RecipeToJson(const Recipe& recipe) {
  Json json = Json::object();
  for (const Field& field : AllFields()) {
    std::visit([&](auto member) { json[field.name] = recipe.*member; }, field.member);
  }
  json["data"] = Json::array();
  for (const DataSource& s : recipe.data) {
    json["data"].push_back(Json{{"files", s.files}, {"weight", s.weight}});
  }
  json["datasets"] = recipe.datasets;
  if (!recipe.settings.empty()) json["settings"] = recipe.settings;
  return json;
}

Json RecipeRecord(const Recipe& recipe) {
  Json json = RecipeToJson(recipe);
  json.erase("init");
  if (json.contains("settings")) json["settings"].erase("target");
  for (size_t i = 0; i < recipe.data.size(); ++i) {
    std::filesystem::path files = recipe.data[i].files;
    if (!files.has_filename()) files = files.parent_path();  // a folder, with a slash at its end
    json["data"][i]["files"] = files.filename().string();
  }
  return json;
}

}  // namespace foretoken::train
