#include "apps/describe/man_page.h"

#include <algorithm>
#include <cctype>

#include "apps/describe/footer.h"
#include "apps/describe/roff.h"

namespace foretoken {
namespace {

std::string JoinedBy(const std::vector<std::string>& texts, std::string_view gap) {
  std::string joined;
  for (const std::string& text : texts) joined.append(joined.empty() ? "" : gap).append(text);
  return joined;
}

// The name of a positional argument: its type if that is more specific than its name.
std::string ArgumentName(const OptionDefinition& argument) {
  if (argument.type != "TEXT") return argument.type;
  std::string name = argument.position;
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::toupper(c); });
  return name;
}

// "[OPTIONS] MODEL [FILE]...".
std::string UsageOf(const CommandDefinition& command) {
  std::string usage = command.parts.empty() ? "[OPTIONS]" : "COMMAND [OPTIONS]";
  for (const OptionDefinition& option : command.options) {
    if (!option.is_argument()) continue;
    const std::string name = ArgumentName(option);
    usage += option.is_required ? " " + name : " [" + name + "]";
    if (option.is_repeatable) usage += "...";
  }
  return usage;
}

// "\fB-m\fR, \fB--model\fR \fIMODEL\fR".
std::string TagOf(const OptionDefinition& option) {
  if (option.is_argument()) return RoffPage::Italic(ArgumentName(option));
  std::string tag;
  for (const std::string& name : option.names)
    tag += (tag.empty() ? "" : ", ") + RoffPage::Bold(name);
  if (option.takes_value()) tag += " " + RoffPage::Italic(option.type);
  return tag;
}

// CLI11's properties of an option beyond its help, as sentences.
std::string KnownOf(const OptionDefinition& option) {
  std::string known;
  const auto add = [&known](const std::string& sentence) { known += " " + sentence + "."; };
  if (option.values.are_all) add("One of " + JoinedBy(option.values.names, ", "));
  if (!option.range.empty()) add(option.range);
  if (!option.default_value.empty()) add("Default: " + option.default_value);
  if (!option.environment.empty()) add("Environment variable: " + option.environment);
  if (!option.needs.empty()) add("Needs " + JoinedBy(option.needs, ", "));
  if (!option.excludes.empty()) add("Not with " + JoinedBy(option.excludes, ", "));
  if (option.is_required) add("Required");
  return known;
}

// The end of the names in a line "pld+h: copies after ..." of an option's help; npos for prose.
size_t NamesEnd(std::string_view line) {
  constexpr std::string_view kInNames = "abcdefghijklmnopqrstuvwxyz0123456789+_-, ";
  const size_t end = line.find(": ");
  const bool is_names =
      end != line.npos && line.substr(0, end).find_first_not_of(kInNames) == line.npos;
  return is_names ? end : line.npos;
}

void AddOption(const OptionDefinition& option, RoffPage& page) {
  const std::vector<std::string> lines = LinesOf(option.help);
  std::string text = lines.empty() ? "" : lines[0];
  const std::string known = KnownOf(option);
  if (!known.empty() && !text.empty() &&
      std::string_view(".:!?").find(text.back()) == std::string_view::npos)
    text += '.';
  page.Item(TagOf(option), text + known);
  if (lines.size() < 2) return;
  page.IndentItems();
  for (size_t i = 1; i < lines.size(); ++i) {
    const size_t names = NamesEnd(lines[i]);
    if (names == std::string::npos) {
      page.Paragraph(lines[i]);
    } else {
      page.Item(RoffPage::Bold(lines[i].substr(0, names)), lines[i].substr(names + 2));
    }
  }
  page.OutdentItems();
}

// Adds options by group, in order of each group's first option. CLI11's own group, which has --help
// and so comes first, needs no heading.
void AddGroups(const CommandDefinition& command, RoffPage& page) {
  std::vector<std::string> groups;
  for (const OptionDefinition& option : command.options) {
    const bool is_known = std::ranges::find(groups, option.group) != groups.end();
    if (!option.is_argument() && !is_known) groups.push_back(option.group);
  }
  for (const std::string& group : groups) {
    if (group != groups.front()) page.Subsection(group);
    for (const OptionDefinition& option : command.options) {
      if (!option.is_argument() && option.group == group) AddOption(option, page);
    }
  }
}

void AddArguments(const CommandDefinition& command, RoffPage& page) {
  for (const OptionDefinition& option : command.options) {
    if (option.is_argument()) AddOption(option, page);
  }
}

void AddBlocks(const std::vector<FooterBlock>& blocks, RoffPage& page) {
  for (const FooterBlock& block : blocks) {
    if (block.is_verbatim)
      page.Verbatim(block.lines);
    else
      page.Paragraph(JoinedBy(block.lines, " "));
  }
}

void AddPart(const std::string& path, const CommandDefinition& part, RoffPage& page) {
  const std::string name = path + " " + part.name;
  page.Section(name);
  page.Usage(name, UsageOf(part));
  page.Paragraph(part.description);
  for (const OptionDefinition& option : part.options) AddOption(option, page);
  const Footer footer = ReadFooter(part.footer);
  AddBlocks(footer.notes, page);
  if (!footer.examples.empty()) page.Verbatim(footer.examples);
  for (const CommandDefinition& inner : part.parts) AddPart(name, inner, page);
}

bool HasOption(const CommandDefinition& command, const std::string& name) {
  return std::ranges::any_of(command.options,
                             [&](const OptionDefinition& option) {
                               return std::ranges::find(option.names, name) != option.names.end();
                             }) ||
         std::ranges::any_of(command.parts,
                             [&](const CommandDefinition& part) { return HasOption(part, name); });
}

void AddStatuses(const std::vector<std::pair<std::string, std::string>>& statuses, RoffPage& page) {
  page.Section("Exit status");
  for (const auto& [number, meaning] : statuses) page.Item(RoffPage::Bold(number), meaning);
}

// The exit statuses in --help, else those common to all commands that can occur.
std::vector<std::pair<std::string, std::string>> StatusesOf(const CommandDefinition& command,
                                                            const Footer& footer) {
  if (!footer.exit_statuses.empty()) return footer.exit_statuses;
  auto statuses = ReadExitStatuses(kExitStatuses);
  std::erase_if(statuses, [&](const auto& status) {
    return status.second.starts_with("--check ") && !HasOption(command, "--check");
  });
  return statuses;
}

void AddEnvironment(const CommandDefinition& command, RoffPage& page) {
  bool is_first = true;
  for (const OptionDefinition& option : command.options) {
    if (option.environment.empty()) continue;
    if (is_first) page.Section("Environment");
    is_first = false;
    const std::string name = option.is_argument() ? ArgumentName(option) : option.names.back();
    page.Item(RoffPage::Bold(option.environment),
              "The value of " + name + " if that option is not given.");
  }
}

}  // namespace

std::string ManualPage(const CommandDefinition& command, std::string_view version,
                       std::string_view own_help) {
  const std::string typed = "foretoken " + command.name;
  RoffPage page("foretoken-" + command.name, version);
  page.Section("Name");
  page.NameLine("foretoken-" + command.name, command.summary);
  page.Section("Synopsis");
  page.Usage(typed, UsageOf(command));
  page.Section("Description");
  page.Paragraph(command.description);
  const Footer footer = ReadFooter(command.footer);
  AddBlocks(footer.notes, page);
  if (std::ranges::any_of(command.options, &OptionDefinition::is_argument)) {
    page.Section("Arguments");
    AddArguments(command, page);
  }
  if (!command.parts.empty()) {
    page.Section("Commands");
    for (const CommandDefinition& part : command.parts)
      page.Item(RoffPage::Bold(part.name), part.summary);
  }
  page.Section("Options");
  AddGroups(command, page);
  for (const CommandDefinition& part : command.parts) AddPart(typed, part, page);
  if (!own_help.empty()) {
    page.Section("Further options");
    page.Paragraph("The output of " + typed + " --help:");
    page.Verbatim(LinesOf(own_help));
  }
  AddEnvironment(command, page);
  if (!footer.examples.empty()) {
    page.Section("Examples");
    page.Verbatim(footer.examples);
  }
  AddStatuses(StatusesOf(command, footer), page);
  page.Section("See also");
  const std::string overview = "foretoken";
  page.References({&overview, 1});
  return page.text();
}

std::string OverviewPage(std::span<const Subcommand> commands, std::string_view version) {
  RoffPage page("foretoken", version);
  page.Section("Name");
  page.NameLine("foretoken", kTagline);
  page.Section("Synopsis");
  page.Usage("foretoken", "COMMAND [OPTIONS]");
  page.Usage("foretoken", "COMMAND --help");
  page.Usage("foretoken", "--version");
  page.Section("Description");
  page.Paragraph(
      "A drafter guesses a few tokens ahead, and the model verifies all guesses in one pass; the "
      "tokens it accepts are those that it would have written alone. Text goes to standard output, "
      "everything else to standard error.");
  page.Section("Commands");
  std::vector<std::string> pages;
  for (const Subcommand& command : commands) {
    page.Item(RoffPage::Bold(command.name), command.summary);
    pages.push_back("foretoken-" + command.name);
  }
  AddStatuses(ReadExitStatuses(kExitStatuses), page);
  page.Section("See also");
  page.References(pages);
  return page.text();
}

}  // namespace foretoken
