#include "draft_defaults.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string_view>

#include "base/mapped_file.h"
#include "base/number_text.h"
#include "checkpoint_file.h"
#include "io/model_file.h"
#include "recipe_fields.h"
#include "text/documents.h"

namespace foretoken::train {
namespace {

// Steps of few tokens learn sooner (docs/learning_sooner.md), but a GPU needs larger ones to be
// busy.
struct StepDefaults {
  int64_t tokens, max_sequence;  // of a step, of a sequence
  int64_t steps, eval_every;     // for steps of so many tokens
  int64_t feature_cache;         // bytes
};
// On a CPU a sequence is shorter than most documents. The target reads a document once and keeps
// what it computes for the pieces.
constexpr StepDefaults kCpu = {.tokens = 128,
                               .max_sequence = 128,
                               .steps = 12'000,
                               .eval_every = 600,
                               .feature_cache = int64_t{8} << 30};
constexpr StepDefaults kGpu = {
    .tokens = 2048, .max_sequence = 1024, .steps = 2000, .eval_every = 100, .feature_cache = 0};
constexpr int64_t kMostRead = 1024;  // tokens of a document that the target reads at once
// On a CPU the LM head of a large vocabulary is most of a step, and a draft that is used scores a
// part of the vocabulary too (docs/draft_vocabulary.md).
constexpr int64_t kScored = 8192;
constexpr int64_t kEvalTokens = 16'384;
// DraftDefaults::rate is for steps of kRateTokens tokens or more and for hidden sizes up to
// kRateWidth. Smaller steps need lower rates: the best of HASS on the demo model (512, 256 and 128
// tokens, docs/learning_sooner.md) follow this power of the tokens.
constexpr double kRateTokens = 2048.0, kRatePower = 0.4, kRateWidth = 512.0;
constexpr int64_t kTimedWarmup = 100, kTimedSteps = 1'000'000;  // for runs with a time budget
constexpr double kFinalRate = 0.02;                             // as a share of the peak rate
constexpr double kWarmupShare = 0.05, kCheckpointMinutes = 2.0;
// Held-out conversations: enough for an evaluation, but a small share of a small data set.
constexpr double kHeldOutDocuments = 64.0, kMinHeldOut = 0.005, kMaxHeldOut = 0.1;

// Rounds to two significant digits (0.0027), for legible records.
double Rounded(double value) {
  const double unit = std::pow(10.0, std::floor(std::log10(value)) - 1.0);
  return std::stod(NumberText("%.2g", std::round(value / unit) * unit));
}

// Returns the rate at the end of a run; few digits, for legible records.
double FinalRate(double rate) { return std::stod(NumberText("%.4g", kFinalRate * rate)); }

// Returns the share of conversations (lines of the JSONL files) to hold out; without JSONL files,
// the smallest share.
Result<double> HeldOutShare(const Recipe& recipe, const std::string& base) {
  double lines = 0.0;
  for (const DataSource& source : recipe.data) {
    if (source.weight <= 0.0) continue;
    FT_ASSIGN_OR_RETURN(const auto files, ListDataFiles(source.files, base));
    for (const std::string& path : files) {
      if (!path.ends_with(".jsonl")) continue;
      FT_ASSIGN_OR_RETURN(const MappedFile file, MappedFile::Open(path));
      lines += static_cast<double>(std::ranges::count(file.text(), '\n'));
    }
  }
  if (lines == 0.0) return kMinHeldOut;
  return Rounded(std::clamp(kHeldOutDocuments / lines, kMinHeldOut, kMaxHeldOut));
}

std::string NameOf(const ModelFile& target, const std::string& path) {
  std::string name = target.config().name;
  if (name.empty()) name = std::filesystem::path(path).stem().string();
  std::ranges::replace(name, ' ', '-');
  return name;
}

// Sets fields whose names are not in `named`.
class Filler {
 public:
  Filler(const std::set<std::string>& named, Recipe& recipe) : named_(named), recipe_(recipe) {}

  bool IsNamed(const char* name) const { return named_.contains(name); }
  template <typename Value>
  void Set(const char* name, Value Recipe::*field, Value value) {
    if (!IsNamed(name)) recipe_.*field = std::move(value);
  }
  void SetSetting(const std::string& name, std::string value) {
    if (!IsNamed(name.c_str())) recipe_.settings[name] = std::move(value);
  }
  // Sets `steps` unless it or `epochs` is named, then `warmup` or `warmup_share` unless one of them
  // is named.
  void SetLength(int64_t steps) {
    const bool timed = IsNamed("time_budget") && recipe_.time_budget > 0.0;
    const bool has_steps = IsNamed("steps") || IsNamed("epochs");
    if (!has_steps) recipe_.steps = timed ? kTimedSteps : steps;
    if (IsNamed("warmup") || IsNamed("warmup_share")) return;
    if (timed && !has_steps) {
      recipe_.warmup = kTimedWarmup;
    } else {
      recipe_.warmup_share = kWarmupShare;
    }
  }

 private:
  const std::set<std::string>& named_;
  Recipe& recipe_;
};

}  // namespace

void FillDraftDefaults(const DraftDefaults& defaults, const std::set<std::string>& named,
                       const std::string& base, bool on_gpu, Recipe& r) {
  const auto path = r.settings.find("target");
  if (defaults.rate == 0.0 || path == r.settings.end()) return;
  const auto target = ModelFile::Open(path->second);
  if (!target.ok()) return;
  const ModelConfig& config = (*target)->config();
  const StepDefaults& step = on_gpu ? kGpu : kCpu;
  Filler fill(named, r);
  fill.Set("name", &Recipe::name, NameOf(**target, path->second) + "-" + r.method);
  fill.Set("length", &Recipe::length, std::clamp<int64_t>(config.context, 2, step.max_sequence));
  const int64_t read = std::clamp<int64_t>(config.context, 2, kMostRead);
  if (r.length < read) fill.Set("target_length", &Recipe::target_length, read);
  fill.Set("feature_cache", &Recipe::feature_cache, step.feature_cache);
  fill.Set("batch", &Recipe::batch, std::max<int64_t>(1, step.tokens / r.length));
  fill.Set("accumulate", &Recipe::accumulate, r.workers);
  const int64_t tokens = r.StepTokens();
  // Returns how many steps of `tokens` tokens learn as much as `steps` of the default size.
  const auto steps_for = [&](int64_t steps) {
    return std::max<int64_t>(1, steps * step.tokens / tokens);
  };
  const double tokens_scale =
      std::pow(std::min(1.0, static_cast<double>(tokens) / kRateTokens), kRatePower);
  const double width_scale = std::min(1.0, kRateWidth / config.hidden);
  fill.Set("lr", &Recipe::lr, Rounded(defaults.rate * tokens_scale * width_scale));
  fill.Set("min_lr", &Recipe::min_lr, FinalRate(r.lr));
  fill.Set("weight_decay", &Recipe::weight_decay, 0.0);
  fill.Set("mask_user", &Recipe::mask_user, defaults.masks_user);
  fill.Set("eval_every", &Recipe::eval_every, steps_for(step.eval_every));
  fill.Set("eval_sequences", &Recipe::eval_sequences, std::max<int64_t>(1, kEvalTokens / r.length));
  fill.Set("checkpoint_minutes", &Recipe::checkpoint_minutes, kCheckpointMinutes);
  fill.SetLength(steps_for(step.steps));
  for (const SettingDefault& setting : defaults.settings) {
    if (setting.name != nullptr) fill.SetSetting(setting.name, setting.value);
  }
  if (defaults.scored != nullptr && !on_gpu && config.vocab > 2 * kScored) {
    fill.SetSetting(defaults.scored, std::to_string(kScored));
  }
  const Result<double> heldout = HeldOutShare(r, base);
  if (heldout.ok()) fill.Set("heldout", &Recipe::heldout, *heldout);
}

void KeepMachineDefaults(const DraftDefaults& defaults, const std::set<std::string>& named,
                         const std::string& run, Recipe& recipe) {
  std::error_code fault;
  if (!std::filesystem::is_regular_file(CheckpointPath(run), fault)) return;
  const Result<CheckpointInfo> info = ReadCheckpointInfo(run);
  if (!info.ok()) return;
  const auto keep = [&](const char* name, auto Recipe::*field) {
    if (!named.contains(name)) recipe.*field = info->recipe.*field;
  };
  keep("dtype", &Recipe::dtype);
  if (defaults.rate == 0.0) return;
  keep("accumulate", &Recipe::accumulate);
  keep("length", &Recipe::length);
  keep("target_length", &Recipe::target_length);
  keep("batch", &Recipe::batch);
  keep("lr", &Recipe::lr);
  const bool follows_lr = info->recipe.min_lr == FinalRate(info->recipe.lr);
  if (!named.contains("lr") || !follows_lr) keep("min_lr", &Recipe::min_lr);
  if (!named.contains("epochs")) keep("steps", &Recipe::steps);
  keep("eval_every", &Recipe::eval_every);
  keep("eval_sequences", &Recipe::eval_sequences);
  keep("heldout", &Recipe::heldout);
  // A run of a version without the setting has the default of the method's table.
  const auto keep_setting = [&](const char* name) {
    if (name == nullptr || named.contains(name)) return;
    recipe.settings.erase(name);
    if (const auto kept = info->recipe.settings.find(name); kept != info->recipe.settings.end()) {
      recipe.settings.insert(*kept);
    }
  };
  keep_setting(defaults.scored);
  for (const SettingDefault& setting : defaults.settings) keep_setting(setting.name);
}

std::string DraftDefaultsHelp() {
  const auto steps = [](const StepDefaults& step) {
    return NumberText("%.0f steps", static_cast<double>(step.steps)) +
           NumberText(" of %.0f tokens", static_cast<double>(step.tokens));
  };
  return "  on a CPU " + steps(kCpu) + ", on a GPU " + steps(kGpu) +
         ";\n  on a CPU target-length " + std::to_string(kMostRead) + ", feature-cache " +
         std::to_string(kCpu.feature_cache >> 30) + "GiB;\n  warm-up " +
         NumberText("%g of them", kWarmupShare) + ", weight-decay 0" +
         NumberText(", min-lr %g", kFinalRate) +
         " of lr;\n  name: the target's and the method's; heldout: about " +
         NumberText("%.0f conversations", kHeldOutDocuments) + ";\n  lr as below for steps of " +
         NumberText("%.0f tokens", kRateTokens) + ", times (tokens / " +
         NumberText("%.0f)", kRateTokens) + NumberText("^%g", kRatePower) +
         " for smaller ones,\n  times " + NumberText("%.0f", kRateWidth) +
         " / the target's width where that is wider:\n";
}

std::string DescribeDefaults(const DraftDefaults& defaults) {
  std::string text = NumberText("lr %g", defaults.rate);
  text += defaults.masks_user ? ", mask-user" : ", no-mask-user";
  for (const SettingDefault& setting : defaults.settings) {
    if (setting.name == nullptr) continue;
    text.append(", ").append(setting.name).append("=").append(setting.value);
  }
  if (defaults.scored != nullptr) {
    text.append(", ").append(defaults.scored).append("=").append(std::to_string(kScored));
    text += " on a CPU if the target has more than " + std::to_string(2 * kScored);
  }
  std::ranges::replace(text, '_', '-');
  return text;
}

}  // namespace foretoken::train
