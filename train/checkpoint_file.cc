#include "checkpoint_file.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "base/hash.h"
#include "base/json.h"
#include "base/mapped_file.h"
#include "base/output_file.h"
#include "base/rng.h"

namespace foretoken::train {
namespace {

constexpr const char* kInfo = "foretoken.state";
// The text before the checksum's digits in the header.
constexpr std::string_view kChecksumKey = "\"foretoken.checksum\":\"";
constexpr size_t kChecksumDigits = 16;
constexpr std::string_view kNoChecksum = "0000000000000000";

uint64_t HashOfText(std::string_view text) { return HashBytes(std::as_bytes(std::span(text))); }

// Returns the checksum of a file. `header`: the JSON header with zeros for the checksum's digits;
// `data`: the bytes after it.
std::string Checksum(std::string_view header, std::string_view data) {
  return HexDigits(Mix(HashOfText(header) ^ Mix(HashOfText(data))));
}

// Reads the counter `name`; files of older versions may lack it.
Status ReadCount(const Json& json, const std::string& path, const char* name, int64_t& count) {
  if (!json.contains(name)) return {};
  const Json& found = json[name];
  const bool fits =
      found.is_number_unsigned() && found.get<uint64_t>() <= static_cast<uint64_t>(INT64_MAX);
  if (!fits) return BadValue(path + ": " + name, JsonText(found), "a whole number of at least 0");
  count = found.get<int64_t>();
  return {};
}

Status ReadMeasure(const Json& json, const std::string& path, const char* name, double& value) {
  if (!json.contains(name)) return {};
  const Json& found = json[name];
  if (!found.is_number()) return BadValue(path + ": " + name, JsonText(found), "a number");
  value = found.get<double>();
  return {};
}

// Reads a list of shares; files of older versions and of other methods lack it.
Status ReadShares(const Json& json, const std::string& path, const char* name,
                  std::vector<double>& shares) {
  if (!json.contains(name)) return {};
  const Json& found = json[name];
  const auto is_share = [](const Json& item) {
    return item.is_number() && item.get<double>() >= 0 && item.get<double>() <= 1;
  };
  if (!found.is_array() || !std::ranges::all_of(found, is_share)) {
    return BadValue(path + ": " + name, JsonText(found), "a list of numbers from 0 to 1");
  }
  shares = found.get<std::vector<double>>();
  return {};
}

Status ReadPlan(const Json& json, const std::string& path, RunState& s) {
  if (!json.contains("plan")) return {};
  const Json& plan = json["plan"];
  if (!plan.is_object()) return BadValue(path + ": plan", JsonText(plan), "an object");
  FT_RETURN_IF_ERROR(ReadCount(plan, path, "from", s.plan.from));
  FT_RETURN_IF_ERROR(ReadCount(plan, path, "end", s.plan.end));
  FT_RETURN_IF_ERROR(ReadCount(plan, path, "eval_batches", s.plan.eval_batches));
  FT_RETURN_IF_ERROR(ReadMeasure(plan, path, "progress", s.plan.progress));
  FT_RETURN_IF_ERROR(ReadMeasure(plan, path, "seconds", s.plan.seconds));
  FT_RETURN_IF_ERROR(ReadMeasure(plan, path, "evaluating", s.evaluating));
  FT_RETURN_IF_ERROR(ReadMeasure(plan, path, "waiting", s.waiting));
  return ReadMeasure(plan, path, "evaluation", s.evaluation);
}

Result<RunState> ReadState(const Json& json, const std::string& path) {
  RunState s;
  FT_RETURN_IF_ERROR(ReadCount(json, path, "step", s.step));
  FT_RETURN_IF_ERROR(ReadCount(json, path, "sequences", s.sequences));
  FT_RETURN_IF_ERROR(ReadCount(json, path, "tokens", s.tokens));
  FT_RETURN_IF_ERROR(ReadMeasure(json, path, "seconds", s.seconds));
  FT_RETURN_IF_ERROR(ReadMeasure(json, path, "heldout", s.heldout));
  FT_RETURN_IF_ERROR(ReadShares(json, path, "alpha", s.alpha));
  FT_RETURN_IF_ERROR(ReadPlan(json, path, s));
  return s;
}

}  // namespace

std::string CheckpointPath(const std::string& directory) {
  return directory + "/checkpoint.safetensors";
}

bool IsWeight(const SafetensorsEntry& entry) {
  for (const char* prefix : {kFirstMoment, kSecondMoment, kLiveWeight}) {
    if (entry.name.starts_with(prefix)) return false;
  }
  return entry.dtype == "F32";
}

Status WriteSafetensors(const std::string& path, const std::vector<TensorRecord>& tensors) {
  const Json metadata = {{"format", "pt"}, {"foretoken.checksum", std::string(kNoChecksum)}};
  std::string file = SafetensorsHeader(tensors, JsonText(metadata));
  const size_t header = file.size();
  size_t bytes = 0;
  for (const TensorRecord& t : tensors) bytes += t.bytes.size();
  file.reserve(header + bytes);
  for (const TensorRecord& t : tensors) file += t.bytes;
  const std::string_view text =
      std::string_view(file).substr(sizeof(uint64_t), header - sizeof(uint64_t));
  const std::string checksum = Checksum(text, std::string_view(file).substr(header));
  file.replace(file.find(kChecksumKey) + kChecksumKey.size(), kChecksumDigits, checksum);
  return WriteFileAtomically(path, file);
}

Status CheckSafetensors(const std::string& path) {
  FT_ASSIGN_OR_RETURN(const MappedFile file, MappedFile::Open(path));
  const std::string_view bytes = file.text();
  uint64_t size = 0;
  if (bytes.size() < sizeof(size)) return Error{path + ": is too short for a checkpoint"};
  std::memcpy(&size, bytes.data(), sizeof(size));
  if (size > bytes.size() - sizeof(size)) return Error{path + ": is truncated within its header"};
  std::string header(bytes.substr(sizeof(size), size));
  const size_t key = header.find(kChecksumKey);
  if (key == std::string::npos) return {};
  const size_t digits = key + kChecksumKey.size();
  if (digits + kChecksumDigits > header.size()) return Error{path + ": is damaged in its header"};
  const std::string stored = header.substr(digits, kChecksumDigits);
  header.replace(digits, kChecksumDigits, kNoChecksum);
  if (Checksum(header, bytes.substr(sizeof(size) + size)) == stored) return {};
  return Error{path + ": is damaged: checksum mismatch"};
}

TensorRecord InfoRecord(const CheckpointInfo& info) {
  const RunState& s = info.state;
  Json json = {{"recipe", RecipeToJson(info.recipe)},
               {"step", s.step},
               {"sequences", s.sequences},
               {"tokens", s.tokens},
               {"seconds", s.seconds},
               {"heldout", s.heldout}};
  if (!s.alpha.empty()) json["alpha"] = s.alpha;
  if (info.recipe.budget > 0.0) {
    json["plan"] = {{"from", s.plan.from},         {"end", s.plan.end},
                    {"progress", s.plan.progress}, {"seconds", s.plan.seconds},
                    {"evaluating", s.evaluating},  {"waiting", s.waiting},
                    {"evaluation", s.evaluation},  {"eval_batches", s.plan.eval_batches}};
  }
  if (!info.begun.empty()) json["begun"] = info.begun;
  const std::string text = JsonText(json);
  return {kInfo, "U8", {static_cast<int64_t>(text.size())}, text};
}

Result<CheckpointInfo> ReadCheckpointInfo(const std::string& directory) {
  const std::string path = CheckpointPath(directory);
  FT_RETURN_IF_ERROR(CheckSafetensors(path));
  FT_ASSIGN_OR_RETURN(const SafetensorsFile file, SafetensorsFile::Open(path));
  const SafetensorsEntry* entry = file.Find(kInfo);
  if (entry == nullptr) return Error{path + ": no tensor '" + std::string(kInfo) + "'"};
  const std::string_view text(reinterpret_cast<const char*>(entry->bytes.data()),
                              entry->bytes.size());
  FT_ASSIGN_OR_RETURN(const Json json, ParseJson(text, path));
  CheckpointInfo info;
  if (!json.is_object() || !json.contains("recipe")) return Error{path + ": no recipe"};
  FT_RETURN_IF_ERROR(ReadRecipe(json["recipe"], path, info.recipe));
  if (const Status s = CheckRecipe(info.recipe); !s.ok()) {
    return Error{path + ": " + s.error().message};
  }
  FT_ASSIGN_OR_RETURN(info.state, ReadState(json, path));
  if (json.contains("begun")) {
    const Json& begun = json["begun"];
    if (!begun.is_string()) return BadValue(path + ": begun", JsonText(begun), "a string");
    info.begun = begun.get<std::string>();
  }
  return info;
}

}  // namespace foretoken::train
