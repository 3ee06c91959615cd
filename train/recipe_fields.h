// The table of a recipe's fields: name, range, meaning. The recipe file, the command line, the help
// and the comparison of runs all go by it.
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
// Null where there is none of that name; for the settings of a method, in its table.
const Field* FindField(const std::string& name);
const Setting* FindSetting(std::span<const Setting> table, const std::string& name);
// "--warmup-share" of "warmup_share".
std::string Flag(const std::string& name);
// Sets the field to what `text` says. Errors: BadValue, opened by `label`.
Status SetFromText(const Field& field, const std::string& label, const std::string& text,
                   Recipe& recipe);
// A weight of DataSource.
inline constexpr ValueRange kWeightRange = FromTo(0.0, 10000.0);

}  // namespace foretoken::train
