#include "base/run_differences.h"

#include <algorithm>
#include <filesystem>

#include "base/brief.h"
#include "base/hash.h"
#include "base/json.h"

namespace foretoken {
namespace {

std::string Shown(const Json& value) {
  constexpr size_t kLongest = 60;
  std::string text = JsonText(value);
  if (value.is_string()) text = text.substr(1, text.size() - 2);
  if (text.empty()) return "none";
  return Brief(text, kLongest);
}

// `file`: an entry of DataRecord.
const Json* FindFile(const Json& files, const Json& file) {
  for (const Json& other : files) {
    if (other.is_object() && other.value("name", Json()) == file["name"]) return &other;
  }
  return nullptr;
}

}  // namespace

RunDifference ChangedValue(const std::string& field, const Json& was, const Json& now) {
  return {field, field + " was " + Shown(was) + ", now " + Shown(now)};
}

Json DataRecord(const std::vector<std::string>& paths, const std::vector<std::string>& hashes) {
  Json files = Json::array();
  for (size_t i = 0; i < paths.size(); ++i) {
    std::error_code unknown;
    const auto bytes = std::filesystem::file_size(paths[i], unknown);
    files.push_back({{"name", std::filesystem::path(paths[i]).filename().string()},
                     {"bytes", unknown ? 0 : bytes},
                     {"hash", hashes[i]}});
  }
  return files;
}

Result<Json> RecordFiles(const std::vector<std::string>& paths) {
  std::vector<std::string> hashes;
  for (const std::string& path : paths) {
    FT_ASSIGN_OR_RETURN(hashes.emplace_back(), HashFile(path));
  }
  return DataRecord(paths, hashes);
}

std::vector<RunDifference> CompareData(const Json& was, const Json& now) {
  std::vector<RunDifference> differences;
  if (was == now || !was.is_array()) return differences;
  const auto add = [&](const Json& file, const char* what) {
    differences.push_back({"data", Shown(file.value("name", Json())) + " " + what});
  };
  for (const Json& file : now) {
    const Json* before = FindFile(was, file);
    if (before == nullptr) {
      add(file, "is new");
    } else if (*before != file) {
      add(file, "has different contents");
    }
  }
  for (const Json& file : was) {
    const bool is_file = file.is_object() && file.contains("name");
    if (is_file && FindFile(now, file) == nullptr) add(file, "is gone");
  }
  if (differences.empty()) differences.push_back({"data", "the files come in another order"});
  return differences;
}

std::string InSentences(std::span<const RunDifference> differences, size_t most) {
  std::string all;
  for (size_t i = 0; i < std::min(differences.size(), most); ++i) {
    if (i > 0) all += "; ";
    all += differences[i].sentence;
  }
  if (differences.size() > most) {
    all += "; and " + std::to_string(differences.size() - most) + " more";
  }
  return all;
}

std::string FieldList(std::span<const RunDifference> differences) {
  std::vector<std::string> fields;
  for (const RunDifference& d : differences) {
    if (std::ranges::find(fields, d.field) == fields.end()) fields.push_back(d.field);
  }
  std::string list;
  for (const std::string& field : fields) list += (list.empty() ? "" : ",") + field;
  return list;
}

}  // namespace foretoken
