// The table of a recipe's fields (name, range, meaning), from which the recipe file, the command
// line, the help and the comparison of runs are derived.
#pragma once

#include <span>
#include <string>
#include <variant>

#include "recipe.h"

namespace foretoken::train {

using FieldMember =
    std::variant<int64_t Recipe::*, double Recipe::*, bool Recipe::*, std::string Recipe::*>;

struct Field {
  const char* name;
  FieldMember member;
  ValueRange range;
  Change change;
  const char* help;
};

std::span<const Field> AllFields();
// Look up a field, or a setting in a method's table, by name. Return null if there is none.
const Field* FindField(const std::string& name);
const Setting* FindSetting(std::span<const Setting> table, const std::string& name);
// Converts "warmup_share" to "--warmup-share".
std::string Flag(const std::string& name);
// Parses `text` and sets the field. Errors: BadValue; the message begins with `label`.
Status SetFromText(const Field& field, const std::string& label, const std::string& text,
                   Recipe& recipe);
// The range of DataSource::weight.
inline constexpr ValueRange kWeightRange = FromTo(0.0, 10000.0);

}  // namespace foretoken::train
