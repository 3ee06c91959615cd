#include "apps/option_values.h"

#include <algorithm>
#include <string_view>

namespace foretoken {
namespace {

// Name prefixes of validators that accept everything; the values follow the prefix.
constexpr std::string_view kOffer = "offer ", kOfferList = "offer list ";

// Types that name files or folders.
constexpr std::string_view kPathTypes[] = {"FILE", "FILES", "MODEL",  "DRAFT",
                                           "PATH", "DIR",   "FOLDER", "RUN"};

CLI::Option* OfferBy(CLI::Option* option, std::string_view mark,
                     const std::vector<std::string>& names) {
  std::string note(mark);
  for (const std::string& name : names) note += name + ",";
  return option->check(CLI::Validator([](std::string&) { return std::string(); }, "", note));
}

std::vector<CLI::Validator*> ValidatorsOf(CLI::Option& option) {
  std::vector<CLI::Validator*> validators;
  try {
    for (int i = 0;; ++i) validators.push_back(option.get_validator(i));
  } catch (const CLI::OptionNotFound&) {  // CLI11 does not expose their number otherwise
    return validators;
  }
}

// The items of "a,b,c".
std::vector<std::string> Items(std::string_view list, char separator = ',') {
  std::vector<std::string> items;
  while (!list.empty()) {
    const size_t end = std::min(list.find(separator), list.size());
    if (end > 0) items.emplace_back(list.substr(0, end));
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return items;
}

bool IsUppercase(const std::string& name) {
  return std::ranges::none_of(name, [](char c) { return c >= 'a' && c <= 'z'; });
}

}  // namespace

CLI::Option* OfferValues(CLI::Option* option, const std::vector<std::string>& names) {
  return OfferBy(option, kOffer, names);
}

CLI::Option* OfferValueList(CLI::Option* option, const std::vector<std::string>& names) {
  return OfferBy(option, kOfferList, names);
}

OptionValues ValuesOf(CLI::Option& option) {
  OptionValues values;
  values.is_list = option.get_delimiter() != '\0';
  for (CLI::Validator* validator : ValidatorsOf(option)) {
    const std::string name = validator->get_name();
    const std::string about = validator->get_description();
    if (name.starts_with(kOfferList)) {
      values.names = Items(name.substr(kOfferList.size()));
      values.is_list = true;
    } else if (name.starts_with(kOffer)) {
      values.names = Items(name.substr(kOffer.size()));
    } else if (about.starts_with('{') && about.ends_with('}')) {  // CLI::IsMember's set
      values.names = Items(about.substr(1, about.size() - 2));
      values.are_all = true;
    } else if (name == kNamesFile) {
      values.is_file = true;
    }
  }
  const std::string type = TypeOf(option);
  if (values.names.empty() && type.find('|') != type.npos) {
    values.names = Items(type, '|');
    std::erase_if(values.names, IsUppercase);  // placeholders, as in "auto|RATIO"
  }
  values.is_file = values.is_file || std::ranges::find(kPathTypes, type) != std::end(kPathTypes);
  return values;
}

std::string TypeOf(CLI::Option& option) {
  std::string type = option.get_type_name();
  const auto validators = ValidatorsOf(option);
  for (auto v = validators.rbegin(); v != validators.rend(); ++v) {
    const std::string about = (*v)->get_description();
    if (!about.empty() && type.ends_with(":" + about)) type.resize(type.size() - about.size() - 1);
  }
  return type;
}

std::string RangeOf(CLI::Option& option) {
  for (CLI::Validator* validator : ValidatorsOf(option)) {
    const std::string about = validator->get_description();  // "INT in [1 - 1024]"
    const size_t open = about.find(" in ["), gap = about.find(" - ", open);
    if (open == about.npos || gap == about.npos || !about.ends_with(']')) continue;
    const size_t low = open + 5, high = gap + 3;
    return about.substr(low, gap - low) + " to " + about.substr(high, about.size() - 1 - high);
  }
  return "";
}

}  // namespace foretoken
