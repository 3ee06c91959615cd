#include <string>
#include <vector>

#include "apps/describe/completion.h"
#include "apps/describe/completion_words.h"

namespace foretoken {
namespace {

constexpr char kFishHead[] =
    R"(# fish completion of foretoken, written by 'foretoken completion fish'.

# Whether nothing but these words is typed so far.
function __foretoken_has_typed
    set -l typed (commandline -opc)
    set -e typed[1]
    test "$typed" = "$argv"
end

# Whether these words are the command and its part.
function __foretoken_runs
    set -l typed (commandline -opc)
    set -e typed[1]
    set -l count (count $argv)
    test (count $typed) -ge $count; and test "$typed[1..$count]" = "$argv"
end

complete -c foretoken -f
complete -c foretoken -n __foretoken_has_typed -l help -d 'list the commands'
complete -c foretoken -n __foretoken_has_typed -l version -d 'show the version'
)";

// `text` in single quotes, in which fish interprets \\ and \'.
std::string FishQuoted(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "'";
}

// The arguments of `complete` that define how a value is completed.
std::string FishValue(const OptionDefinition& option) {
  if (option.values.is_file) return " -r -F";
  const std::vector<std::string> values = PlainValues(option);
  if (values.empty()) return " -x";
  std::string list;
  for (const std::string& value : values) list.append(list.empty() ? "" : " ").append(value);
  return " -x -a " + FishQuoted(option.values.is_list ? "(__fish_append , " + list + ")" : list);
}

void AddFishLine(const std::string& condition, const std::string& rest, std::string& script) {
  script += "complete -c foretoken -n " + FishQuoted(condition) + rest + "\n";
}

void AddFishCommand(const std::string& path, const CommandDefinition& command,
                    std::string& script) {
  for (const CommandDefinition& part : command.parts) {
    AddFishLine("__foretoken_has_typed " + path,
                " -a " + part.name + " -d " + FishQuoted(ShortHelp(part.summary)), script);
  }
  const std::string runs = "__foretoken_runs " + path;
  for (const OptionDefinition& option : command.options) {
    if (option.is_argument()) continue;
    std::string rest;
    for (const std::string& name : option.names)
      rest += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
    if (option.takes_value()) rest += FishValue(option);
    AddFishLine(runs, rest + " -d " + FishQuoted(ShortHelp(option.help)), script);
  }
  const OptionDefinition* argument = CompletedArgument(command);
  if (command.is_partial || (argument != nullptr && argument->values.is_file)) {
    AddFishLine(runs, " -F", script);
  } else if (argument != nullptr && !PlainValues(*argument).empty()) {
    AddFishLine(runs, FishValue(*argument), script);
  }
}

}  // namespace

std::string FishCompletion(std::span<const CommandDefinition> commands) {
  std::string script = kFishHead;
  for (const CommandDefinition& command : commands) {
    AddFishLine("__foretoken_has_typed",
                " -a " + command.name + " -d " + FishQuoted(ShortHelp(command.summary)), script);
  }
  ForEachPath(commands, [&](const std::string& path, const CommandDefinition& command) {
    AddFishCommand(path, command, script);
  });
  return script;
}

}  // namespace foretoken
