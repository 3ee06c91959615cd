#include "recipe.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <functional>
#include <variant>

#include "base/check.h"
#include "base/json.h"

namespace foretoken::train {
namespace {

constexpr int64_t kMostVocab = 1 << 20;

using Target =
    std::variant<int64_t Recipe::*, double Recipe::*, bool Recipe::*, std::string Recipe::*>;

struct Field {
  const char* name;
  Target target;
  const char* help;
};

const Field kFields[] = {
    {"method", &Recipe::method, "what is trained, recorded in checkpoints"},
    {"name", &Recipe::name, "name of the model"},
    {"author", &Recipe::author, "who made it"},
    {"license", &Recipe::license, "licence recorded in the exported files"},
    {"description", &Recipe::description, "one sentence recorded in the exported files"},
    {"vocab", &Recipe::vocab, "tokens of the vocabulary, special ones included"},
    {"layers", &Recipe::layers, "blocks"},
    {"hidden", &Recipe::hidden, "width of the residual stream"},
    {"ffn", &Recipe::ffn, "inner width of the feed-forward part"},
    {"heads", &Recipe::heads, "query heads"},
    {"kv_heads", &Recipe::kv_heads, "key/value heads"},
    {"head_dim", &Recipe::head_dim, "width of a head"},
    {"context", &Recipe::context, "context length recorded in the exported files"},
    {"rope_base", &Recipe::rope_base, "base of the rotary frequencies"},
    {"norm_eps", &Recipe::norm_eps, "epsilon of RMSNorm"},
    {"tied_embeddings", &Recipe::tied_embeddings, "the embedding is the output matrix too"},
    {"pre", &Recipe::pre, "pre-tokenizer"},
    {"tokenizer_mib", &Recipe::tokenizer_mib, "MiB of text the tokenizer is learnt from"},
    {"length", &Recipe::length, "tokens of a packed sequence"},
    {"batch", &Recipe::batch, "sequences at once"},
    {"accumulate", &Recipe::accumulate, "batches whose gradients make one step"},
    {"steps", &Recipe::steps, "steps of the schedule"},
    {"warmup", &Recipe::warmup, "steps until the full learning rate"},
    {"epochs", &Recipe::epochs, "times the data are seen, instead of steps (0: steps)"},
    {"warmup_share", &Recipe::warmup_share, "warm-up as a share of the steps (0: warmup)"},
    {"decay_steps", &Recipe::decay_steps, "steps that the schedule is made for (0: those taken)"},
    {"init", &Recipe::init,
     "weights to begin with: another run's folder, or a published .safetensors or .bin"},
    {"seed", &Recipe::seed, "seed of weights and data order"},
    {"lr", &Recipe::lr, "highest learning rate"},
    {"min_lr", &Recipe::min_lr, "learning rate at the end"},
    {"beta1", &Recipe::beta1, "AdamW: decay of the first moment"},
    {"beta2", &Recipe::beta2, "AdamW: decay of the second moment"},
    {"weight_decay", &Recipe::weight_decay, "AdamW: decay of matrices"},
    {"clip", &Recipe::clip, "largest gradient norm (0: any)"},
    {"clip_value", &Recipe::clip_value, "largest entry of a gradient (0: any)"},
    {"ema", &Recipe::ema, "judge and export the weights' moving average of this decay (0: none)"},
    {"schedule", &Recipe::schedule, "learning rate after the warm-up: cosine, linear or constant"},
    {"time_budget", &Recipe::time_budget, "training time, e.g. 95m, that ends the schedule early"},
    {"dtype", &Recipe::dtype, "bf16 or f32: type of activations and products"},
    {"device", &Recipe::device, "cpu, cuda or auto"},
    {"mask_user", &Recipe::mask_user, "do not learn what users say in chats"},
    {"eval_every", &Recipe::eval_every, "steps between held-out losses (0: never)"},
    {"eval_sequences", &Recipe::eval_sequences, "sequences of a held-out loss"},
    {"heldout", &Recipe::heldout, "share of documents held out"},
    {"checkpoint_steps", &Recipe::checkpoint_steps, "steps between checkpoints (0: by time)"},
    {"checkpoint_minutes", &Recipe::checkpoint_minutes, "minutes between checkpoints"},
    {"threads", &Recipe::threads, "threads (0: one a core)"},
    {"workers", &Recipe::workers,
     "processes that share a step's batches (accumulate), a GPU each where there are GPUs"},
    {"feature_cache", &Recipe::feature_cache,
     "most bytes of a drafter's target's work kept for later epochs, e.g. 20GiB (0: none)"},
};

const Field* FindField(const std::string& name) {
  for (const Field& f : kFields) {
    if (name == f.name) return &f;
  }
  return nullptr;
}

std::string Flag(const char* name) {
  std::string flag = "--";
  for (const char* c = name; *c != '\0'; ++c) flag += *c == '_' ? '-' : *c;
  return flag;
}

Error BadValue(const std::string& name, const std::string& value, const std::string& expected) {
  return Error{name + " is '" + value + "', expected " + expected};
}

template <typename T>
bool ParseNumber(const std::string& text, T& out) {
  const char* end = text.data() + text.size();
  const auto [rest, fault] = std::from_chars(text.data(), end, out);
  return fault == std::errc() && rest == end;
}

Status SetFromText(const Field& field, const std::string& value, Recipe& recipe) {
  if (const auto* text = std::get_if<std::string Recipe::*>(&field.target)) {
    recipe.*(*text) = value;
    return {};
  }
  if (const auto* flag = std::get_if<bool Recipe::*>(&field.target)) {
    if (value != "true" && value != "false") return BadValue(field.name, value, "true or false");
    recipe.*(*flag) = value == "true";
    return {};
  }
  if (std::string(field.name) == "time_budget") {
    FT_ASSIGN_OR_RETURN(recipe.time_budget, ParseDuration(value));
    return {};
  }
  if (std::string(field.name) == "feature_cache") {
    FT_ASSIGN_OR_RETURN(recipe.feature_cache, ParseSize(value));
    return {};
  }
  if (const auto* number = std::get_if<double Recipe::*>(&field.target)) {
    if (!ParseNumber(value, recipe.*(*number))) return BadValue(field.name, value, "a number");
    return {};
  }
  int64_t& whole = recipe.*std::get<int64_t Recipe::*>(field.target);
  if (!ParseNumber(value, whole)) return BadValue(field.name, value, "a whole number");
  return {};
}

Status ReadData(const Json& list, const std::string& origin, Recipe& recipe) {
  if (!list.is_array()) return Error{origin + ": data is not a list"};
  recipe.data.clear();
  for (const Json& item : list) {
    if (!item.is_object() || !item.contains("files") || !item["files"].is_string()) {
      return Error{origin + ": an entry of data has no text field 'files'"};
    }
    DataSource source;
    source.files = item["files"].get<std::string>();
    if (item.contains("weight") && item["weight"].is_number()) source.weight = item["weight"];
    recipe.data.push_back(source);
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
    if (!line.is_string()) return Error{origin + ": an entry of datasets is not a text"};
    recipe.datasets.push_back(line.get<std::string>());
  }
  return {};
}

// `name`: of a file with data and datasets, from the recipe's folder.
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

bool IsNumber(const std::string& text) {
  double value = 0.0;
  return ParseNumber(text, value);
}

// Flag, padded, and meaning.
std::string HelpLine(const char* name, const char* help) {
  std::string line = "  ";
  line += Flag(name);
  line.resize(std::max<size_t>(line.size() + 1, 24), ' ');
  line += help;
  return line;
}

}  // namespace

double Recipe::Number(const std::string& setting) const {
  double value = 0.0;
  FT_CHECK(ParseNumber(settings.at(setting), value));
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
      const std::string text = value.is_string() ? value.get<std::string>() : JsonText(value);
      if (Status s = SetFromText(*field, text, recipe); !s.ok()) {
        return Error{origin + ": " + s.error().message};
      }
    } else {
      return Error{origin + ": unknown field '" + std::string(key).append("'")};
    }
  }
  return {};
}

Json RecipeToJson(const Recipe& recipe) {
  Json json = Json::object();
  for (const Field& field : kFields) {
    std::visit([&](auto member) { json[field.name] = recipe.*member; }, field.target);
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
  return json;
}

Status SetField(const std::string& name, const std::string& value, Recipe& recipe) {
  if (const Field* field = FindField(name)) return SetFromText(*field, value, recipe);
  recipe.settings[name] = value;
  return {};
}

bool IsFlag(const std::string& name) {
  const Field* field = FindField(name);
  return field != nullptr && std::holds_alternative<bool Recipe::*>(field->target);
}

std::string FieldHelp() {
  const Json defaults = RecipeToJson(Recipe());
  std::string help;
  for (const Field& field : kFields) {
    help += HelpLine(field.name, field.help);
    help += " [";
    help += JsonText(defaults[field.name]);
    help += "]\n";
  }
  return help;
}

std::string SettingHelp(std::span<const Setting> table) {
  std::string help;
  for (const Setting& setting : table) {
    help += HelpLine(setting.name, setting.help);
    help += " [";
    help += setting.value;
    help += "]\n";
  }
  return help;
}

Status CompleteSettings(std::span<const Setting> table, Recipe& recipe) {
  for (const auto& [name, value] : recipe.settings) {
    const auto setting = std::find_if(table.begin(), table.end(),
                                      [&, &n = name](const Setting& s) { return n == s.name; });
    if (setting == table.end()) {
      return Error{"unknown option '" + Flag(name.c_str()) + "' of train " + recipe.method};
    }
    if (IsNumber(setting->value) && !IsNumber(value)) return BadValue(name, value, "a number");
  }
  for (const Setting& setting : table) recipe.settings.try_emplace(setting.name, setting.value);
  return {};
}

Status CheckCount(const Recipe& r, const std::string& setting, int64_t least, int64_t most) {
  const double value = r.Number(setting);
  if (value == std::floor(value) && value >= static_cast<double>(least) &&
      value <= static_cast<double>(most)) {
    return {};
  }
  return BadValue(setting, r.Text(setting),
                  "a whole number from " + std::to_string(least) + " to " + std::to_string(most));
}

Status CheckRecipe(const Recipe& r) {
  for (const char* name : {"layers", "hidden", "ffn", "heads", "kv_heads", "head_dim", "length",
                           "batch", "accumulate", "steps", "context", "workers"}) {
    const int64_t value = r.*std::get<int64_t Recipe::*>(FindField(name)->target);
    if (value < 1) return BadValue(name, std::to_string(value), "at least 1");
  }
  if (r.heads % r.kv_heads != 0) return Error{"heads is not a multiple of kv_heads"};
  if (r.head_dim % 2 != 0) return Error{"head_dim is odd, rotary positions need pairs"};
  if (r.vocab < 260 || r.vocab > kMostVocab) {
    return BadValue("vocab", std::to_string(r.vocab), "260 .. " + std::to_string(kMostVocab));
  }
  if (r.accumulate % r.workers != 0) {
    return Error{"accumulate is " + std::to_string(r.accumulate) +
                 ", expected a multiple of workers, " + std::to_string(r.workers)};
  }
  for (const char* name : {"epochs", "warmup_share"}) {
    const double value = r.*std::get<double Recipe::*>(FindField(name)->target);
    if (value < 0.0) return BadValue(name, std::to_string(value), "at least 0");
  }
  if (r.ema < 0.0 || r.ema >= 1.0) {
    return BadValue("ema", std::to_string(r.ema), "a number of at least 0 and less than 1");
  }
  if (r.schedule != "cosine" && r.schedule != "linear" && r.schedule != "constant") {
    return BadValue("schedule", r.schedule, "cosine, linear or constant");
  }
  if (r.dtype != "bf16" && r.dtype != "f32") return BadValue("dtype", r.dtype, "bf16 or f32");
  return {};
}

Result<double> ParseDuration(const std::string& text) {
  double total = 0.0;
  const char* at = text.data();
  const char* end = at + text.size();
  while (at < end) {
    double value = 0.0;
    const auto [rest, fault] = std::from_chars(at, end, value);
    if (fault != std::errc()) break;
    const char unit = rest < end ? *rest : 's';
    if (unit != 'h' && unit != 'm' && unit != 's') break;
    total += value * (unit == 'h' ? 3600.0 : unit == 'm' ? 60.0 : 1.0);
    at = rest < end ? rest + 1 : end;
  }
  if (text.empty() || at != end) return BadValue("a duration", text, "a form like 95m or 1h30m");
  return total;
}

Result<int64_t> ParseSize(const std::string& text) {
  const std::string_view units[] = {"", "KiB", "MiB", "GiB", "TiB"};
  const char* end = text.data() + text.size();
  double value = 0.0;
  const auto [rest, fault] = std::from_chars(text.data(), end, value);
  const auto* unit = std::find(std::begin(units), std::end(units), std::string_view(rest, end));
  if (fault == std::errc() && unit != std::end(units)) {
    const double bytes = std::ldexp(value, static_cast<int>(10 * (unit - std::begin(units))));
    if (bytes >= 0.0 && bytes < 0x1.0p62) return static_cast<int64_t>(bytes);
  }
  return BadValue("a size", text, "a form like 20GiB or 512MiB");
}

}  // namespace foretoken::train
