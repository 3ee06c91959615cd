// The recipe of a training run: a flat list of fields, shared by the recipe file (JSON), the
// command line (--field value, with '-' for '_') and the record in checkpoints.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "base/result.h"
#include "value_range.h"

namespace foretoken::train {

struct DataSource {
  std::string files;  // a file, a directory, or a glob
  // How many times an epoch contains the source. A fractional part selects some of the documents,
  // different ones in each epoch.
  double weight = 1.0;
};

// Whether a run may be resumed with a different value of a field.
enum class Change : uint8_t {
  kFree,   // always: the value does not affect the weights
  kAsked,  // only if --change names the field
  kNever,  // never: shapes of weights or token ids would differ
};

// A field that only some methods have, in the table of Method::settings.
struct Setting {
  const char* name;
  const char* value;  // default
  ValueRange range;
  const char* help;
  Change change = Change::kAsked;
};

struct Recipe {
  std::string method = "lm";
  std::string name = "foretoken-lm", author, license = "unknown", description;
  // The model's shape; for drafters, the shape of their target.
  int64_t vocab = 8192, layers = 8, hidden = 384, ffn = 1024, heads = 6, kv_heads = 2;
  int64_t head_dim = 64, context = 2048;
  double rope_base = 10000.0, norm_eps = 1e-5;
  bool tied_embeddings = true;
  // Tokenizer.
  std::string pre = "qwen2";
  double tokenizer_mib = 32.0;  // MiB of text that the tokenizer is trained on
  // Optimisation.
  int64_t length = 1024, target_length = 0, batch = 4, accumulate = 1, steps = 1000, warmup = 100,
          seed = 1;
  double lr = 1.5e-3, min_lr = 0.0, beta1 = 0.9, beta2 = 0.95, weight_decay = 0.1, clip = 1.0;
  double clip_value = 0.0, ema = 0.0;
  std::string schedule = "cosine", optimizer = "adamw";
  double epochs = 0.0;        // length of the run in epochs; 0: `steps` sets it
  double warmup_share = 0.0;  // warm-up as a fraction of the steps; 0: `warmup` sets it
  int64_t decay_steps = 0;    // steps of the full decay, may exceed `steps`; 0: `steps`
  std::string init;           // source of the initial weights (LoadWeights); "": random
  double time_budget = 0.0;   // seconds of training; 0: no limit
  double budget = 0.0;        // seconds of the whole run (budget.h); 0: no limit
  std::string dtype = "bf16", device = "auto";
  bool mask_user = false;
  // Housekeeping.
  int64_t eval_every = 200, eval_sequences = 24, checkpoint_steps = 0, threads = 0;
  int64_t workers = 1;
  double heldout = 0.005, checkpoint_minutes = 5.0;
  int64_t feature_cache = 0;  // bytes; 0: no cache
  std::vector<DataSource> data;
  std::vector<std::string> datasets;            // for the model card: "name: licence"
  std::map<std::string, std::string> settings;  // the method's settings, as text

  // Tokens of a step's sequences, padding and tokens without a loss included.
  int64_t StepTokens() const { return length * batch * accumulate; }

  // Return the value of a setting of the method. REQUIRES: CompleteSettings has succeeded, and its
  // table has the setting.
  double Number(const std::string& setting) const;
  const std::string& Text(const std::string& setting) const;
};

// Overwrites the fields of `recipe` that `json` has. `origin`: the file that `json` was read from.
// The field "mix" names a file with "data" and "datasets", relative to the folder of `origin`.
// Errors: an unknown field, a value of the wrong type or out of range, a missing file.
Status ReadRecipe(const Json& json, const std::string& origin, Recipe& recipe);
Json RecipeToJson(const Recipe& recipe);
// The recipe as stored in exported files, without local paths.
Json RecipeRecord(const Recipe& recipe);
// Sets the field `name` from a command-line value or, if there is no such field, the method's
// setting `name`, which CompleteSettings checks later. Errors: a malformed value of a field or one
// out of range; the message names the field as a flag.
Status SetField(const std::string& name, const std::string& value, Recipe& recipe);
bool IsFlag(const std::string& name);  // a field that takes no value on the command line
// Return help texts, a line for each field or setting: flag, meaning, default. `of_draft`: without
// the fields of a language model's shape and tokenizer.
std::string FieldHelp(bool of_draft);
std::string SettingHelp(std::span<const Setting> table);
// Checks the settings read from the recipe file `origin`. Errors: those of CompleteSettings; the
// message begins with the file's name.
Status CheckSettings(std::span<const Setting> table, const std::string& origin,
                     const Recipe& recipe);
// Checks the settings of `recipe` and sets those it lacks to their defaults. Errors: a setting that
// is not in the table, a value out of range.
Status CompleteSettings(std::span<const Setting> table, Recipe& recipe);
// Errors: a field out of range, or fields that exclude each other: sizes of the model, batch and
// length, accumulate and workers, budget and time_budget.
Status CheckRecipe(const Recipe& recipe);

}  // namespace foretoken::train
