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

constexpr double kMeasuredWidth = 512.0;  // hidden size up to which DraftDefaults::rate holds
constexpr int64_t kTokensPerStep = 2048, kMaxSequence = 1024;
constexpr int64_t kSteps = 2000, kEvalEvery = 100, kEvalSequences = 16;
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
  void SetSetting(std::string_view text) {
    const size_t equals = text.find('=');
    const std::string name(text.substr(0, equals));
    if (!IsNamed(name.c_str())) recipe_.settings[name] = text.substr(equals + 1);
  }
  // Sets `steps` unless it or `epochs` is named, then `warmup` or `warmup_share` unless one of them
  // is named.
  void SetLength() {
    const bool timed = IsNamed("time_budget") && recipe_.time_budget > 0.0;
    const bool has_steps = IsNamed("steps") || IsNamed("epochs");
    if (!has_steps) recipe_.steps = timed ? kTimedSteps : kSteps;
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
                       const std::string& base, Recipe& r) {
  const auto path = r.settings.find("target");
  if (defaults.rate == 0.0 || path == r.settings.end()) return;
  const auto target = ModelFile::Open(path->second);
  if (!target.ok()) return;
  const ModelConfig& config = (*target)->config();
  Filler fill(named, r);
  fill.Set("name", &Recipe::name, NameOf(**target, path->second) + "-" + r.method);
  fill.Set("length", &Recipe::length, std::clamp<int64_t>(config.context, 2, kMaxSequence));
  fill.Set("batch", &Recipe::batch, std::max<int64_t>(1, kTokensPerStep / r.length));
  fill.Set("accumulate", &Recipe::accumulate, r.workers);
  const double width_scale = std::min(1.0, kMeasuredWidth / config.hidden);
  fill.Set("lr", &Recipe::lr, Rounded(defaults.rate * width_scale));
  fill.Set("min_lr", &Recipe::min_lr, kFinalRate * r.lr);
  fill.Set("weight_decay", &Recipe::weight_decay, 0.0);
  fill.Set("mask_user", &Recipe::mask_user, defaults.masks_user);
  fill.Set("eval_every", &Recipe::eval_every, kEvalEvery);
  fill.Set("eval_sequences", &Recipe::eval_sequences, kEvalSequences);
  fill.Set("checkpoint_minutes", &Recipe::checkpoint_minutes, kCheckpointMinutes);
  fill.SetLength();
  for (const char* setting : defaults.shares) {
    if (setting != nullptr) fill.SetSetting(setting);
  }
  const Result<double> heldout = HeldOutShare(r, base);
  if (heldout.ok()) fill.Set("heldout", &Recipe::heldout, *heldout);
}

void KeepMachineDefaults(const std::set<std::string>& named, const std::string& run,
                         Recipe& recipe) {
  std::error_code fault;
  if (!std::filesystem::is_regular_file(CheckpointPath(run), fault)) return;
  const Result<CheckpointInfo> info = ReadCheckpointInfo(run);
  if (!info.ok()) return;
  if (!named.contains("accumulate")) recipe.accumulate = info->recipe.accumulate;
  if (!named.contains("dtype")) recipe.dtype = info->recipe.dtype;
}

std::string DraftDefaultsHelp() {
  return NumberText("  %.0f steps", kSteps) + NumberText(" of %.0f tokens", kTokensPerStep) +
         NumberText(", warm-up %g of them", kWarmupShare) + ", weight-decay 0" +
         NumberText(", eval-every %.0f", kEvalEvery) + NumberText(", min-lr %g", kFinalRate) +
         " of lr;\n  name: the target's and the method's; heldout: about " +
         NumberText("%.0f conversations", kHeldOutDocuments) +
         ";\n  lr as below, times 512 / the target's width where that is wider:\n";
}

std::string DescribeDefaults(const DraftDefaults& defaults) {
  std::string text = NumberText("lr %g", defaults.rate);
  text += defaults.masks_user ? ", mask-user" : ", no-mask-user";
  for (const char* setting : defaults.shares) {
    if (setting != nullptr) text.append(", ").append(setting);
  }
  std::ranges::replace(text, '_', '-');
  return text;
}

}  // namespace foretoken::train
