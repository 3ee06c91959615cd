// Default recipes of drafts: the method's settings, scaled to the target.
#pragma once

#include <array>
#include <set>
#include <string>

#include "base/result.h"
#include "recipe.h"

namespace foretoken::train {

struct SettingDefault {
  const char* name = nullptr;  // null: no setting
  const char* value = "";
};

struct DraftDefaults {
  // Peak learning rate of steps of 2,048 tokens or more for targets whose hidden size is at most
  // 512. It falls with smaller steps, and in inverse proportion to larger hidden sizes. 0: the
  // method trains no draft.
  double rate = 0.0;
  bool masks_user = true;                       // the loss covers answers only
  std::array<SettingDefault, 2> settings = {};  // those that are not the method's table's
  // The setting that limits the tokens which losses score, where the method has one. On a CPU it is
  // 8,192 for a target with more than twice as many tokens.
  const char* scored = nullptr;
  // The drafter that loads the method's drafts; null: the drafter with the method's name.
  const char* drafter = nullptr;
};

// Sets every field and setting that is not in `named` to its default, and names the draft after its
// target. Relative data patterns are under `base`. `on_gpu`: whether the run uses a GPU, which
// needs larger steps than a CPU. Does not report a target or data that cannot be read; training
// does.
void FillDraftDefaults(const DraftDefaults& defaults, const std::set<std::string>& named,
                       const std::string& base, bool on_gpu, Recipe& recipe);

// Restores, for a run that is resumed, the fields whose defaults depend on the machine or the data,
// unless they are in `named`: `dtype` and, of drafts, the size, the number and the rates of steps,
// the share of held-out documents, the tokens that losses score and the settings of `defaults`.
// `run`: the run's directory. Without a readable checkpoint there, nothing changes.
void KeepMachineDefaults(const DraftDefaults& defaults, const std::set<std::string>& named,
                         const std::string& run, Recipe& recipe);

// Returns the help text of the defaults that differ from those of a language model.
std::string DraftDefaultsHelp();
// Describes one method's defaults, for example "lr 0.003, mask-user".
std::string DescribeDefaults(const DraftDefaults& defaults);

}  // namespace foretoken::train
