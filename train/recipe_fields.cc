#include "recipe_fields.h"

#include <algorithm>

#include "base/json.h"
#include "io/model_limits.h"

namespace foretoken::train {
namespace {

// Minimum vocabulary of a newly trained tokenizer; a target's may be smaller.
constexpr int64_t kFewestTokens = 260;
constexpr int64_t kMostSteps = 1'000'000'000'000;
// Maximum rows of a batch; kernels count rows in 32 bits.
constexpr int64_t kMostRows = int64_t{1} << 26;

const Field kFields[] = {
    {"method", &Recipe::method, AnyText(), Change::kNever,
     "training method, recorded in checkpoints"},
    {"name", &Recipe::name, AnyText(), Change::kFree, "name of the model"},
    {"author", &Recipe::author, AnyText(), Change::kFree, "who made it"},
    {"license", &Recipe::license, AnyText(), Change::kFree,
     "licence recorded in the exported files"},
    {"description", &Recipe::description, AnyText(), Change::kFree,
     "one sentence recorded in the exported files"},
    {"vocab", &Recipe::vocab, Whole(1, kMostVocab), Change::kNever,
     "tokens in the vocabulary, including special ones"},
    {"layers", &Recipe::layers, Whole(1, kMostLayers), Change::kNever, "decoder layers"},
    {"hidden", &Recipe::hidden, Whole(1, kMostHidden), Change::kNever,
     "width of the residual stream"},
    {"ffn", &Recipe::ffn, Whole(1, kMostFfn), Change::kNever,
     "inner width of the feed-forward part"},
    {"heads", &Recipe::heads, Whole(1, kMostHeads), Change::kNever, "query heads"},
    {"kv_heads", &Recipe::kv_heads, Whole(1, kMostHeads), Change::kNever, "key/value heads"},
    {"head_dim", &Recipe::head_dim, Whole(1, kMostHeadDim), Change::kNever, "width of a head"},
    {"context", &Recipe::context, Whole(1, kMostContext), Change::kFree,
     "context length recorded in the exported files"},
    {"rope_base", &Recipe::rope_base, AboveTo(0.0, 1e30), Change::kNever,
     "base of the rotary frequencies"},
    {"norm_eps", &Recipe::norm_eps, AboveTo(0.0, 1.0), Change::kNever, "epsilon of RMSNorm"},
    {"tied_embeddings", &Recipe::tied_embeddings, TrueOrFalse(), Change::kNever,
     "use the embedding as the output matrix"},
    {"pre", &Recipe::pre, AnyText(), Change::kNever, "pre-tokenizer"},
    {"tokenizer_mib", &Recipe::tokenizer_mib, AboveTo(0.0, 1e6), Change::kNever,
     "MiB of text that the tokenizer is trained on"},
    {"length", &Recipe::length, Whole(2, 1 << 20), Change::kAsked, "tokens of a packed sequence"},
    {"target_length", &Recipe::target_length, Whole(0, 1 << 20), Change::kAsked,
     "tokens of a document that a draft's target reads at once, so that what a sequence of length "
     "tokens learns comes from the text before it as well (0: length)"},
    {"batch", &Recipe::batch, Whole(1, 1 << 16), Change::kAsked, "sequences per batch"},
    {"accumulate", &Recipe::accumulate, Whole(1, 1 << 16), Change::kAsked,
     "batches whose gradients are summed for one step"},
    {"steps", &Recipe::steps, Whole(1, kMostSteps), Change::kAsked, "steps of the schedule"},
    {"warmup", &Recipe::warmup, Whole(0, kMostSteps), Change::kAsked,
     "steps until the full learning rate"},
    {"epochs", &Recipe::epochs, FromTo(0.0, 1e6), Change::kAsked,
     "passes over the data, instead of steps (0: use steps)"},
    {"warmup_share", &Recipe::warmup_share, FromTo(0.0, 1.0), Change::kAsked,
     "warm-up as a fraction of the steps (0: use warmup)"},
    {"decay_steps", &Recipe::decay_steps, Whole(0, kMostSteps), Change::kAsked,
     "length of the schedule in steps (0: the steps of the run)"},
    {"init", &Recipe::init, AnyText(), Change::kAsked,
     "initial weights: another run's folder, a draft .gguf of the same method, or a published "
     ".safetensors or .bin"},
    {"seed", &Recipe::seed, Whole(0, INT64_MAX), Change::kAsked, "seed of weights and data order"},
    {"lr", &Recipe::lr, FromTo(0.0, 10.0), Change::kAsked, "highest learning rate"},
    {"min_lr", &Recipe::min_lr, FromTo(0.0, 10.0), Change::kAsked, "learning rate at the end"},
    {"beta1", &Recipe::beta1, FromToBelow(0.0, 1.0), Change::kAsked,
     "AdamW: decay of the first moment"},
    {"beta2", &Recipe::beta2, FromToBelow(0.0, 1.0), Change::kAsked,
     "AdamW: decay of the second moment"},
    {"weight_decay", &Recipe::weight_decay, FromTo(0.0, 10.0), Change::kAsked,
     "weight decay of matrices"},
    {"clip", &Recipe::clip, FromTo(0.0, 1e6), Change::kAsked,
     "maximum gradient norm (0: no limit)"},
    {"clip_value", &Recipe::clip_value, FromTo(0.0, 1e6), Change::kAsked,
     "maximum magnitude of a gradient's entries (0: no limit)"},
    {"ema", &Recipe::ema, FromToBelow(0.0, 1.0), Change::kAsked,
     "evaluate and export a moving average of the weights with this decay (0: none)"},
    {"schedule", &Recipe::schedule, OneOf("cosine linear constant"), Change::kAsked,
     "learning rate after the warm-up: cosine, linear or constant"},
    {"optimizer", &Recipe::optimizer, OneOf("adamw muon"), Change::kNever,
     "adamw, or muon, which learns all matrices but embeddings and LM heads"},
    {"time_budget", &Recipe::time_budget, Duration(1e9), Change::kAsked,
     "training time, e.g. 95m, after which the schedule ends early"},
    {"budget", &Recipe::budget, Duration(1e9), Change::kAsked,
     "time of the whole run, e.g. 20m, for which steps, warm-up and decay are planned (0: use "
     "steps)"},
    {"dtype", &Recipe::dtype, OneOf("bf16 f32"), Change::kAsked,
     "bf16 or f32: type of activations and products"},
    {"device", &Recipe::device, OneOf("auto cpu cuda"), Change::kFree, "cpu, cuda or auto"},
    {"mask_user", &Recipe::mask_user, TrueOrFalse(), Change::kAsked,
     "do not train on the users' turns of chats"},
    {"eval_every", &Recipe::eval_every, Whole(0, kMostSteps), Change::kFree,
     "steps between held-out losses (0: never)"},
    {"eval_sequences", &Recipe::eval_sequences, Whole(0, 1 << 24), Change::kFree,
     "sequences per held-out loss"},
    {"heldout", &Recipe::heldout, FromToBelow(0.0, 1.0), Change::kAsked,
     "fraction of documents held out"},
    {"checkpoint_steps", &Recipe::checkpoint_steps, Whole(0, kMostSteps), Change::kFree,
     "steps between checkpoints (0: by time)"},
    {"checkpoint_minutes", &Recipe::checkpoint_minutes, FromTo(0.0, 1e6), Change::kFree,
     "minutes between checkpoints"},
    {"threads", &Recipe::threads, Whole(0, 1024), Change::kFree, "threads (0: one per core)"},
    {"workers", &Recipe::workers, Whole(1, 256), Change::kFree,
     "processes that share a step's batches (accumulate), each with its own GPU if there are GPUs"},
    {"feature_cache", &Recipe::feature_cache, Size(int64_t{1} << 50), Change::kFree,
     "maximum bytes of the target's results kept for later epochs, e.g. 20GiB (0: none)"},
};

// Returns a help line: the flag, padding and its meaning.
std::string HelpLine(const char* name, const char* help) {
  std::string line = "  " + Flag(name);
  line.resize(std::max<size_t>(line.size() + 1, 24), ' ');
  return line + help;
}

// Whether a field is about the model or the tokenizer that `lm` trains; a draft has its target's.
bool IsOfLanguageModel(const Field& field) {
  static const Field *const first = FindField("vocab"), *const last = FindField("tokenizer_mib");
  return first <= &field && &field <= last;
}

Status CheckField(const Field& field, const Recipe& r) {
  bool is_in_range = true;
  if (const auto* integer = std::get_if<int64_t Recipe::*>(&field.member)) {
    is_in_range = Contains(field.range, r.*(*integer));
  } else if (const auto* number = std::get_if<double Recipe::*>(&field.member)) {
    is_in_range = Contains(field.range, r.*(*number));
  } else if (const auto* text = std::get_if<std::string Recipe::*>(&field.member)) {
    return CheckValue(field.range, field.name, r.*(*text));
  }
  if (is_in_range) return {};
  return BadValue(field.name, JsonText(RecipeToJson(r)[field.name]), Expected(field.range));
}

}  // namespace

std::span<const Field> AllFields() { return kFields; }

const Field* FindField(const std::string& name) {
  for (const Field& f : kFields) {
    if (name == f.name) return &f;
  }
  return nullptr;
}

const Setting* FindSetting(std::span<const Setting> table, const std::string& name) {
  for (const Setting& setting : table) {
    if (name == setting.name) return &setting;
  }
  return nullptr;
}

std::string Flag(const std::string& name) {
  std::string flag = "--" + name;
  std::ranges::replace(flag, '_', '-');
  return flag;
}

Status SetFromText(const Field& field, const std::string& label, const std::string& text,
                   Recipe& recipe) {
  if (const auto* integer = std::get_if<int64_t Recipe::*>(&field.member)) {
    FT_ASSIGN_OR_RETURN(recipe.*(*integer), ReadWhole(field.range, label, text));
    return {};
  }
  if (const auto* number = std::get_if<double Recipe::*>(&field.member)) {
    FT_ASSIGN_OR_RETURN(recipe.*(*number), ReadNumber(field.range, label, text));
    return {};
  }
  FT_RETURN_IF_ERROR(CheckValue(field.range, label, text));
  if (const auto* flag = std::get_if<bool Recipe::*>(&field.member)) {
    recipe.*(*flag) = text == "true";
  } else {
    recipe.*std::get<std::string Recipe::*>(field.member) = text;
  }
  return {};
}

Status SetField(const std::string& name, const std::string& value, Recipe& recipe) {
  if (const Field* field = FindField(name)) return SetFromText(*field, Flag(name), value, recipe);
  recipe.settings[name] = value;
  return {};
}

bool IsFlag(const std::string& name) {
  const Field* field = FindField(name);
  return field != nullptr && std::holds_alternative<bool Recipe::*>(field->member);
}

std::string FieldHelp(bool of_draft) {
  const Json defaults = RecipeToJson(Recipe());
  std::string help;
  for (const Field& field : kFields) {
    if (of_draft && IsOfLanguageModel(field)) continue;
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

Status CheckSettings(std::span<const Setting> table, const std::string& origin,
                     const Recipe& recipe) {
  for (const auto& [name, value] : recipe.settings) {
    const std::string label = origin + ": settings." + name;
    const Setting* setting = FindSetting(table, name);
    if (setting == nullptr) return Error{label + ": unknown setting of train " + recipe.method};
    FT_RETURN_IF_ERROR(CheckValue(setting->range, label, value));
  }
  return {};
}

Status CompleteSettings(std::span<const Setting> table, Recipe& recipe) {
  for (const auto& [name, value] : recipe.settings) {
    const Setting* setting = FindSetting(table, name);
    if (setting == nullptr) {
      return Error{"unknown option '" + Flag(name) + "' of train " + recipe.method};
    }
    FT_RETURN_IF_ERROR(CheckValue(setting->range, name, value));
  }
  for (const Setting& setting : table) recipe.settings.try_emplace(setting.name, setting.value);
  return {};
}

Status CheckRecipe(const Recipe& r) {
  for (const Field& field : kFields) FT_RETURN_IF_ERROR(CheckField(field, r));
  const bool has_target = r.settings.contains("target");
  if (!has_target && r.vocab < kFewestTokens) {
    return BadValue("vocab", std::to_string(r.vocab), Expected(Whole(kFewestTokens, kMostVocab)));
  }
  if (!has_target && r.target_length > 0) {
    return Error{"target_length is " + std::to_string(r.target_length) + ", expected 0: train " +
                 r.method + " has no target"};
  }
  if (r.heads % r.kv_heads != 0) {
    return Error{"heads is " + std::to_string(r.heads) + ", expected a multiple of kv_heads, " +
                 std::to_string(r.kv_heads)};
  }
  if (r.head_dim % 2 != 0) {
    return Error{"head_dim is " + std::to_string(r.head_dim) +
                 ", expected an even number: rotary positions rotate pairs of dimensions"};
  }
  if (r.budget > 0.0 && r.time_budget > 0.0) {
    return Error{"budget and time_budget are both set, expected one of them"};
  }
  if (r.accumulate % r.workers != 0) {
    return Error{"accumulate is " + std::to_string(r.accumulate) +
                 ", expected a multiple of workers, " + std::to_string(r.workers)};
  }
  if (r.batch * r.length > kMostRows) {
    return Error{"batch is " + std::to_string(r.batch) + " and length " + std::to_string(r.length) +
                 ", expected a product of at most " + std::to_string(kMostRows)};
  }
  return {};
}

}  // namespace foretoken::train
