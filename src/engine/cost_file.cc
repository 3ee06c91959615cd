#include "engine/cost_file.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "base/input_file.h"
#include "base/json.h"
#include "base/output_file.h"
#include "base/rng.h"
#include "base/writable.h"

namespace foretoken {
namespace {

std::string ReadProcessorName() {
  Result<std::string> text = ReadText("/proc/cpuinfo");
  if (!text.ok()) return "";
  std::istringstream in(*std::move(text));
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with("model name")) continue;
    const size_t name = line.find_first_not_of(": \t", line.find(':'));
    return name == std::string::npos ? "" : line.substr(name);
  }
  return "";
}

}  // namespace

std::string ProcessorName() {
  static const std::string& name = *new std::string(ReadProcessorName());
  return name;
}

std::string CostKey(const Model& model) {
  const ModelConfig& c = model.config();
  std::string key = "8";  // version of the file format
  for (const int64_t number :
       {int64_t{c.vocab}, int64_t{c.layers}, int64_t{c.hidden}, int64_t{c.ffn}, int64_t{c.heads},
        int64_t{c.kv_heads}, int64_t{c.head_dim}, static_cast<int64_t>(model.weight_bytes()),
        int64_t{model.backend().threads()}}) {
    key.append(" ").append(std::to_string(number));
  }
  key.append(" ").append(DTypeName(model.OutputHead().type()));
  return key.append(" ").append(model.backend().Name()).append(" ").append(ProcessorName());
}

std::string CostPath(const std::string& key) {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  std::filesystem::path folder;
  if (cache != nullptr && *cache != '\0') {
    folder = cache;
  } else if (home != nullptr && *home != '\0') {
    folder = std::filesystem::path(home) / ".cache";
  } else {
    return "";
  }
  uint64_t hash = 0;
  for (char c : key) hash = Mix(hash ^ static_cast<unsigned char>(c));
  char name[32];
  std::snprintf(name, sizeof name, "costs-%016llx.json", static_cast<unsigned long long>(hash));
  return folder / "foretoken" / name;
}

Result<CostModel> ReadCosts(const std::string& path, const Model& model) {
  FT_ASSIGN_OR_RETURN(const Json json, ReadJsonFile(path, FileUse::kOwnState));
  if (!json.is_object() || json.value("key", Json()) != CostKey(model)) {
    return Error{path + ": costs of something else"};
  }
  CostModel costs = CostModel::Guess(model);
  FT_RETURN_IF_ERROR(costs.Restore(json, path));
  return costs;
}

Status WriteCosts(const std::string& path, const Model& model, const CostModel& costs) {
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (!folder.empty()) std::filesystem::create_directories(folder, error);
  if (error) return Error{path + ": " + error.message()};
  FT_RETURN_IF_ERROR(CheckWritable(path));
  if (IsDevice(path)) return Error{path + ": is no regular file"};  // opening a pipe would block
  Json json = costs.ToJson();
  json["key"] = CostKey(model);
  return WriteFileAtomically(path, JsonText(json) + "\n");
}

CostModel* CostStore::Get() {
  if (costs_ != nullptr) return costs_.get();
  path_ = CostPath(CostKey(model_));
  Result<CostModel> kept = ReadCosts(path_, model_);
  costs_ = std::make_unique<CostModel>(kept.ok() ? *std::move(kept) : CostModel::Guess(model_));
  return costs_.get();
}

void CostStore::Replace(CostModel costs) {
  costs_ = std::make_unique<CostModel>(std::move(costs));
  path_.clear();
}

CostStore::~CostStore() {
  if (costs_ == nullptr || path_.empty() || !costs_->has_plain_pass()) return;
  const Status ignored = WriteCosts(path_, model_, *costs_);
  (void)ignored;
}

}  // namespace foretoken
