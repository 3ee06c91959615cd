#include "run_record.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/hash.h"
#include "base/json.h"
#include "feature_file.h"
#include "io/model_file.h"
#include "recipe_fields.h"
#include "text/documents.h"

namespace foretoken::train {
namespace {

constexpr char kData[] = "data", kTarget[] = "target", kLr[] = "lr", kMinLr[] = "min_lr";

Result<Json> RecordData(const Recipe& recipe, const std::string& base) {
  Json sources = Json::array();
  for (const DataSource& source : recipe.data) {
    Json files = Json::array();
    if (source.weight > 0.0) {
      FT_ASSIGN_OR_RETURN(const auto paths, ListDataFiles(source.files, base));
      FT_ASSIGN_OR_RETURN(files, RecordFiles(paths));
    }
    sources.push_back({{"weight", source.weight}, {"files", std::move(files)}});
  }
  return sources;
}

Result<Json> RecordTarget(const std::string& path) {
  if (path.empty()) return Error{"--target is missing"};
  FT_ASSIGN_OR_RETURN(const auto target, ModelFile::Open(path));
  Json record = FeatureOwner(*target, "");
  record.erase("rows");
  const std::string& chat = target->tokenizer().chat_template;
  record["chat_template"] = HexDigits(HashBytes(std::as_bytes(std::span(chat))));
  return record;
}

const Json& Member(const Json& object, const std::string& name) {
  static const Json kNull;
  return object.is_object() && object.contains(name) ? object[name] : kNull;
}

// Returns a field's value as messages show it: a duration as on the command line, "" for none.
Json ShownValue(const ValueRange& range, const Json& value) {
  if (range.kind != ValueRange::Kind::kDuration || !value.is_number()) return value;
  const auto seconds = value.get<double>();
  return seconds > 0.0 ? DurationText(seconds) : "";
}

// `field`: of type Field or Setting.
template <typename FieldOrSetting>
void CompareField(const FieldOrSetting& field, const Json& was, const Json& now,
                  std::vector<RunDifference>& differences) {
  // null: a version of foretoken that did not have this field
  if (was.is_null() || now.is_null() || was == now) return;
  differences.push_back(
      ChangedValue(field.name, ShownValue(field.range, was), ShownValue(field.range, now)));
}

// Compares files and weights source by source. If the number of sources differs, reports only that.
void CompareSources(const Json& was, const Json& now, std::vector<RunDifference>& differences) {
  if (!was.is_array() || !now.is_array()) return;
  if (was.size() != now.size()) {
    differences.push_back({kData, "there were " + std::to_string(was.size()) +
                                      " data sources, now " + std::to_string(now.size())});
    return;
  }
  for (size_t i = 0; i < now.size(); ++i) {
    for (RunDifference& d : CompareData(Member(was[i], "files"), Member(now[i], "files"))) {
      differences.push_back(std::move(d));
    }
    const Json &before = Member(was[i], "weight"), &after = Member(now[i], "weight");
    if (before == after) continue;
    const std::string name = "the weight of data[" + std::to_string(i) + "]";
    differences.push_back({kData, ChangedValue(name, before, after).sentence});
  }
}

void CompareTargets(const Json& was, const Json& now, std::vector<RunDifference>& differences) {
  if (!was.is_object()) return;
  for (const auto& [name, value] : now.items()) {
    const Json& before = Member(was, name);
    if (before == value) continue;
    const std::string sentence = name == "weights"
                                     ? "the target's weights differ"
                                     : ChangedValue("the target's " + name, before, value).sentence;
    differences.push_back({kTarget, sentence});
  }
}

// Returns the Change of a field or setting; kAsked for other names (data, target), which --change
// may name.
Change ChangeOf(std::span<const Setting> settings, const std::string& name) {
  if (const Field* field = FindField(name)) return field->change;
  const Setting* setting = FindSetting(settings, name);
  return setting == nullptr ? Change::kAsked : setting->change;
}

// Whether the recipe of a checkpoint without a record may hold another value than the user gave:
// one derived from data or target, or a relative path. `recipe`: of this command.
bool MayBeDerived(const Recipe& recipe, const std::string& name) {
  return ChangeOf({}, name) == Change::kNever || name == "init" ||
         (name == "steps" && recipe.epochs > 0.0) ||
         (name == "warmup" && recipe.warmup_share > 0.0);
}

void CompareRecipes(const RunContinuation& run, const Json& was, const Json& now, bool has_record,
                    std::vector<RunDifference>& differences) {
  for (const Field& field : AllFields()) {
    if (field.change == Change::kFree) continue;
    if (!has_record && MayBeDerived(run.recipe, field.name)) continue;
    CompareField(field, Member(was, field.name), Member(now, field.name), differences);
  }
  for (const Setting& setting : run.settings) {
    if (setting.change == Change::kFree) continue;
    CompareField(setting, Member(Member(was, "settings"), setting.name),
                 Member(Member(now, "settings"), setting.name), differences);
  }
}

// Whether --change names a field that a run can change.
bool NamesChange(const RunContinuation& run, const std::string& field) {
  return ChangeOf(run.settings, field) != Change::kNever &&
         std::ranges::find(run.changes, field) != run.changes.end();
}

bool FollowsLr(const RunContinuation& run, const std::string& field) {
  return run.min_lr_follows_lr && field == kMinLr;
}

// Leaves out min_lr if it follows an lr in the list.
std::vector<RunDifference> ToBeNamed(const RunContinuation& run,
                                     std::vector<RunDifference> differences) {
  if (std::ranges::find(differences, kLr, &RunDifference::field) != differences.end()) {
    std::erase_if(differences, [&](const RunDifference& d) { return FollowsLr(run, d.field); });
  }
  return differences;
}

Error ContinuationError(const RunContinuation& run, std::span<const RunDifference> differences) {
  std::vector<RunDifference> fixed, changeable;
  for (const RunDifference& d : differences) {
    (ChangeOf(run.settings, d.field) == Change::kNever ? fixed : changeable).push_back(d);
  }
  std::string message =
      run.directory +
      " holds a run that was started with other settings or data: " + InSentences(differences) +
      ". ";
  if (fixed.empty()) {
    for (const std::string& allowed : run.changes) changeable.push_back({allowed, ""});
    message += "--change " + FieldList(ToBeNamed(run, std::move(changeable))) +
               " continues with the new values; ";
  } else {
    message += "A run cannot change " + FieldList(fixed) + "; ";
  }
  return Error{message + "--force starts over and replaces the run; another --out keeps it"};
}

}  // namespace

Result<std::string> RecordRun(const Recipe& recipe, const std::string& base) {
  Recipe located = recipe;
  if (!located.init.empty()) located.init = std::filesystem::absolute(located.init).string();
  Json record = Json::object();
  record["recipe"] = RecipeToJson(located);
  if (const auto target = recipe.settings.find(kTarget); target != recipe.settings.end()) {
    FT_ASSIGN_OR_RETURN(record[kTarget], RecordTarget(target->second));
  }
  FT_ASSIGN_OR_RETURN(record[kData], RecordData(recipe, base));
  return JsonText(record);
}

std::string RunKey(const std::string& record) {
  std::string text = record;
  Result<Json> json = ParseJson(record, "record of a run");
  if (json.ok() && json->is_object() && json->contains("recipe")) {
    Json& recipe = (*json)["recipe"];
    if (recipe.is_object()) {
      for (const Field& field : AllFields()) {
        if (field.change == Change::kFree) recipe.erase(std::string(field.name));
      }
      recipe.erase(std::string(kData));  // paths; record["data"] has the contents' hashes
      Json& settings = recipe["settings"];
      if (settings.is_object()) settings.erase(std::string(kTarget));
    }
    text = JsonText(*json);
  }
  return HexDigits(HashBytes(std::as_bytes(std::span(text))));
}

Status CheckChangeNames(std::span<const Setting> settings, std::span<const std::string> names) {
  for (const std::string& name : names) {
    if (name == kData || name == kTarget) continue;
    if (FindField(name) == nullptr && FindSetting(settings, name) == nullptr) {
      return Error{"--change is '" + name +
                   "', expected fields of the recipe, data or target, separated by commas"};
    }
    if (ChangeOf(settings, name) == Change::kNever) {
      return Error{"--change is '" + name + "', which a run cannot change; --force starts over"};
    }
  }
  return {};
}

Result<std::vector<RunDifference>> CheckContinues(const RunContinuation& run,
                                                  const CheckpointInfo& kept,
                                                  const std::string& record) {
  if (kept.recipe.method != run.recipe.method) {
    return Error{run.directory + " holds a run of train " + kept.recipe.method + ", not of train " +
                 run.recipe.method + "; --force starts over and replaces it"};
  }
  if ((kept.recipe.ema > 0.0) != (run.recipe.ema > 0.0)) {
    return Error{
        run.directory + " holds a run " + (run.recipe.ema > 0.0 ? "without" : "with") +
        " --ema, which can only be resumed the same way; --force starts over and replaces it"};
  }
  const std::string path = CheckpointPath(run.directory);
  FT_ASSIGN_OR_RETURN(const Json now, ParseJson(record, path));
  const bool has_record = !kept.begun.empty();
  Json was = Json::object();
  if (has_record) {
    FT_ASSIGN_OR_RETURN(was, ParseJson(kept.begun, path));
  } else {
    was["recipe"] = RecipeToJson(kept.recipe);
  }
  std::vector<RunDifference> differences;
  CompareRecipes(run, Member(was, "recipe"), Member(now, "recipe"), has_record, differences);
  CompareSources(Member(was, kData), Member(now, kData), differences);
  CompareTargets(Member(was, kTarget), Member(now, kTarget), differences);
  std::vector<RunDifference> allowed, refused;
  for (RunDifference& d : differences) {
    const bool follows = FollowsLr(run, d.field) && NamesChange(run, kLr);
    if (follows) continue;
    (NamesChange(run, d.field) ? allowed : refused).push_back(std::move(d));
  }
  if (!refused.empty()) return ContinuationError(run, refused);
  return allowed;
}

}  // namespace foretoken::train
