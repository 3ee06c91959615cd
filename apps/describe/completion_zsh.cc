#include <algorithm>
#include <string>
#include <vector>

#include "apps/describe/completion.h"
#include "apps/describe/completion_words.h"

namespace foretoken {
namespace {

constexpr char kZshHead[] = R"(#compdef foretoken
# zsh completion of foretoken, written by 'foretoken completion zsh'.

# Hands over to what completes the command or the part at the second place.
_foretoken_hand_over() {
  local completer=${1}_${words[2]}
  (( $+functions[$completer] )) || return 1
  shift words
  (( CURRENT-- ))
  $completer
}
)";

constexpr char kZshTail[] = R"(
if [[ $funcstack[1] == _foretoken ]]; then
  _foretoken "$@"
else
  compdef _foretoken foretoken
fi
)";

// Escapes characters that are special within a specification for _arguments or _describe.
std::string Escaped(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (std::string_view("\\[]:$`").find(c) != std::string_view::npos) escaped += '\\';
    escaped += c;
  }
  return escaped;
}

// The completion of a value: ":NAME:ACTION".
std::string ActionOf(const OptionDefinition& option) {
  std::string action = ":" + Escaped(option.type) + ":";
  if (option.values.is_file) return action + "_files";
  const std::vector<std::string> values = PlainValues(option);
  if (values.empty()) return action + " ";
  std::string list;
  for (const std::string& value : values) list.append(list.empty() ? "" : " ").append(value);
  return action + (option.values.is_list ? "{_sequence compadd - " + list + "}" : "(" + list + ")");
}

// Adds one line for each name of an option, and one for an argument.
void AddSpecifications(const OptionDefinition& option, std::string& script) {
  if (option.is_argument()) {
    const std::string mark = option.is_repeatable ? "*" : option.is_required ? "" : ":";
    script += " \\\n    " + ShellQuoted(mark + ActionOf(option));
    return;
  }
  std::string names;
  for (const std::string& name : option.names) names.append(names.empty() ? "" : " ").append(name);
  for (const std::string& name : option.names) {
    std::string text = option.is_repeatable ? "*" : "(" + names + ")";
    text += name;
    if (option.takes_value()) text += name.starts_with("--") ? "=" : "+";
    text += "[" + Escaped(ShortHelp(option.help)) + "]";
    if (option.takes_value()) text += ActionOf(option);
    script += " \\\n    " + ShellQuoted(text);
  }
}

// Adds a function that completes the names of parts, then the arguments of the selected part.
// `otherwise`: completes the rest if no part is selected, or "".
void AddChooser(const std::string& function, std::span<const CommandDefinition> parts,
                const std::string& otherwise, std::string& script) {
  script += "\n" + function + "() {\n  if (( CURRENT > 2 )); then\n    _foretoken_hand_over " +
            function + otherwise + "\n    return\n  fi\n  local -a commands=(\n";
  for (const CommandDefinition& part : parts)
    script += "    " + ShellQuoted(part.name + ":" + Escaped(ShortHelp(part.summary))) + "\n";
  script += "  )\n  _describe -t commands command commands\n}\n";
}

}  // namespace

std::string ZshCompletion(std::span<const CommandDefinition> commands) {
  std::string script = kZshHead;
  ForEachPath(commands, [&](const std::string& path, const CommandDefinition& command) {
    std::string function = "_foretoken_" + path;
    std::ranges::replace(function, ' ', '_');
    if (!command.parts.empty()) {
      AddChooser(function, command.parts, command.is_partial ? " || _files" : "", script);
      return;
    }
    script += "\n" + function + "() {\n  _arguments -s";
    for (const OptionDefinition& option : command.options) AddSpecifications(option, script);
    if (command.is_partial) script += " \\\n    '*:FILE:_files'";
    script += "\n}\n";
  });
  AddChooser("_foretoken", commands, "", script);
  return script + kZshTail;
}

}  // namespace foretoken
