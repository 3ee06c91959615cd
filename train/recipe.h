// What a training run is made of. One flat list of fields serves the recipe file (JSON), the
// command line (--field value, with '-' for '_') and the record kept in checkpoints.
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
  double weight =
      1.0;  // times it is seen in an epoch; a fraction takes a random part, anew each time
};

// Whether a run that goes on may have another value than it was begun with.
enum class Change : uint8_t {
  kFree,   // it changes nothing that is learnt
  kAsked,  // where --change names it
  kNever,  // the weights would be others, or read other tokens
};

// A field that only some methods have.
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
  // Model; a drafter's is its target's.
  int64_t vocab = 8192, layers = 8, hidden = 384, ffn = 1024, heads = 6, kv_heads = 2;
  int64_t head_dim = 64, context = 2048;
  double rope_base = 10000.0, norm_eps = 1e-5;
  bool tied_embeddings = true;
  // Tokenizer.
  std::string pre = "qwen2";
  double tokenizer_mib = 32.0;  // text it is learnt from
  // Optimisation.
  int64_t length = 1024, batch = 4, accumulate = 1, steps = 1000, warmup = 100, seed = 1;
  double lr = 1.5e-3, min_lr = 0.0, beta1 = 0.9, beta2 = 0.95, weight_decay = 0.1, clip = 1.0;
  double clip_value = 0.0, ema = 0.0;
  std::string schedule = "cosine";
  double epochs = 0.0;        // of the data; 0 = `steps` says how long
  double warmup_share = 0.0;  // of the steps; 0 = `warmup` says how many
  int64_t decay_steps = 0;    // of the whole schedule, where training ends before it; 0 = `steps`
  std::string init;           // where the weights come from; "" = drawn with the seed
  double time_budget = 0.0;   // seconds of training; 0 = none
  double budget = 0.0;        // seconds of the whole run, which is planned for them; 0 = none
  std::string dtype = "bf16", device = "auto";
  bool mask_user = false;
  // Housekeeping.
  int64_t eval_every = 200, eval_sequences = 24, checkpoint_steps = 0, threads = 0;
  int64_t workers = 1;
  double heldout = 0.005, checkpoint_minutes = 5.0;
  int64_t feature_cache = 0;  // bytes; 0 = none
  std::vector<DataSource> data;
  std::vector<std::string> datasets;            // for the model card: "name: licence"
  std::map<std::string, std::string> settings;  // of the method, as text

  // REQUIRES: CompleteSettings found the setting in the method's table.
  double Number(const std::string& setting) const;
  const std::string& Text(const std::string& setting) const;
};

// Overwrites the fields that `json` holds. "mix" names a file that holds "data" and "datasets",
// from the folder of `origin`, where `json` came from. Errors: an unknown field, a value of another
// kind or out of its range, no such file.
Status ReadRecipe(const Json& json, const std::string& origin, Recipe& recipe);
Json RecipeToJson(const Recipe& recipe);
// What exported files keep of it: no paths of this machine.
Json RecipeRecord(const Recipe& recipe);
// Sets one field, or else a setting of the method, from a command-line value. Errors: a value that
// cannot be read or is out of its range, named as a flag. CompleteSettings finds the unknown ones.
Status SetField(const std::string& name, const std::string& value, Recipe& recipe);
bool IsFlag(const std::string& name);  // a field that takes no value on the command line
// One line for each field: flag, meaning, default.
std::string FieldHelp();
std::string SettingHelp(std::span<const Setting> table);
// The settings read from the recipe file `origin`. Errors: as of CompleteSettings, opened by the
// file's name.
Status CheckSettings(std::span<const Setting> table, const std::string& origin,
                     const Recipe& recipe);
// Gives the settings that `recipe` lacks their defaults. Errors: one that the table does not have,
// a value out of its range.
Status CompleteSettings(std::span<const Setting> table, Recipe& recipe);
// Errors: a field out of its range, sizes that cannot make a model or a batch.
Status CheckRecipe(const Recipe& recipe);

}  // namespace foretoken::train
