// What a draft learns with where neither a recipe nor flags say: the method's, scaled to the
// target.
#pragma once

#include <array>
#include <set>
#include <string>

#include "base/result.h"
#include "recipe.h"

namespace foretoken::train {

struct DraftDefaults {
  // The highest learning rate for a target 512 wide; in inverse proportion to its width for wider
  // ones. 0: no draft.
  double rate = 0.0;
  bool masks_user = true;                  // learns answers alone
  std::array<const char*, 2> shares = {};  // settings that take the target's parts, "name=value"
  const char* drafter = nullptr;           // that takes its drafts; null: the one of its name
};

// Sets every field and setting that is not in `named` to its default, and names the draft after its
// target. What it cannot read, target or data, it leaves to training to name. `base` as in
// PrepareData.
void FillDraftDefaults(const DraftDefaults& defaults, const std::set<std::string>& named,
                       const std::string& base, Recipe& recipe);

// A run that goes on keeps what it was begun with of the fields whose defaults follow the machine:
// `accumulate` (the number of workers) and `dtype` (what the CPU multiplies), unless they are in
// `named`. `run`: its directory. Without a checkpoint that can be read there, nothing changes.
void KeepMachineDefaults(const std::set<std::string>& named, const std::string& run,
                         Recipe& recipe);

// For the help: the fields that differ from those of a language model.
std::string DraftDefaultsHelp();
// "lr 0.003, mask-user" of one method.
std::string DescribeDefaults(const DraftDefaults& defaults);

}  // namespace foretoken::train
