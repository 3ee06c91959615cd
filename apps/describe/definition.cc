#include "apps/describe/definition.h"

#include <algorithm>
#include <utility>

#include "apps/command_line.h"

namespace foretoken {
namespace {

// "-m" and "--model".
std::vector<std::string> TypedNames(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  return names;
}

template <typename Options>
std::vector<std::string> NamesOf(const Options& options) {
  std::vector<std::string> names;
  names.reserve(options.size());
  for (const CLI::Option* option : options) names.push_back(option->get_name());
  std::ranges::sort(names);  // CLI11 orders them by address
  return names;
}

OptionDefinition Define(CLI::Option& option) {
  OptionDefinition defined;
  defined.names = TypedNames(option);
  if (option.get_positional()) defined.position = option.get_name(/*positional=*/true);
  if (option.get_items_expected_max() != 0) {
    defined.type = TypeOf(option);
    if (defined.type.empty()) defined.type = "VALUE";
    defined.values = ValuesOf(option);
    defined.range = RangeOf(option);
    defined.default_value = option.get_default_str();
  }
  defined.environment = option.get_envname();
  defined.group = option.get_group();
  defined.help = option.get_description();
  defined.is_required = option.get_required();
  defined.is_repeatable = option.get_expected_max() >= CLI::detail::expected_max_vector_size;
  defined.excludes = NamesOf(option.get_excludes());
  defined.needs = NamesOf(option.get_needs());
  return defined;
}

// Adds the options of `app` and of its option groups, which are apps without a name. `group`: the
// heading for options of CLI11's default group.
void AddOptions(CLI::App& app, const std::string& group, CommandDefinition* to) {
  const CLI::Option* repeated = group.empty() ? nullptr : app.get_help_ptr();
  for (CLI::Option* option : app.get_options()) {
    if (option->get_group().empty() || option == repeated) continue;  // hidden; in every group
    OptionDefinition defined = Define(*option);
    if (!group.empty()) defined.group = group;
    to->options.push_back(std::move(defined));
  }
  for (CLI::App* part : app.get_subcommands({})) {
    if (part->get_name().empty()) AddOptions(*part, part->get_group(), to);
  }
}

}  // namespace

CommandDefinition DefinitionOf(CLI::App& app) {
  CommandDefinition defined;
  defined.name = app.get_name();
  defined.summary = app.get_description();
  defined.description = app.get_description();
  defined.footer = app.get_footer();
  defined.is_partial = app.get_allow_extras();
  AddOptions(app, "", &defined);
  for (CLI::App* part : app.get_subcommands({})) {
    if (part->get_name().empty()) continue;
    defined.parts.push_back(DefinitionOf(*part));
    CommandDefinition& added = defined.parts.back();
    if (added.footer == defined.footer) added.footer.clear();  // inherited from the parent
  }
  return defined;
}

CommandDefinition ReadDefinition(const Subcommand& command) {
  CommandDefinition defined;
  const DefinitionVisit visit([&](CLI::App& app) { defined = DefinitionOf(app); });
  std::string name = command.name;
  char* argv[] = {name.data(), nullptr};
  command.run(1, argv);
  defined.name = command.name;
  defined.summary = std::string(command.summary);
  return defined;
}

}  // namespace foretoken
