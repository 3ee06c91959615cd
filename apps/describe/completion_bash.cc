#include <string>
#include <utility>
#include <vector>

#include "apps/describe/completion.h"
#include "apps/describe/completion_words.h"

namespace foretoken {
namespace {

constexpr char kBashHead[] =
    R"(# bash completion of foretoken, written by 'foretoken completion bash'.

# What may stand at a place: words, ":file", or ":text" where anything may. Fails where nothing may.
_foretoken_list() {
  case "$1" in
)";

constexpr char kBashTail[] = R"(    *) return 1 ;;
  esac
}

# Completes $1 to what $REPLY says; in a list with commas, its last item.
_foretoken_offer() {
  local before=
  case "$REPLY" in
    :file) compopt -o default ;;
    :text) ;;
    *)
      [[ $1 == *,* ]] && before=${1%,*},
      mapfile -t COMPREPLY < <(compgen -P "$before" -W "$REPLY" -- "${1##*,}")
      ;;
  esac
}

_foretoken() {
  local REPLY= path= first=1 current=${COMP_WORDS[COMP_CWORD]} option=${COMP_WORDS[COMP_CWORD - 1]}
  COMPREPLY=()
  # The command and its part stand in front.
  while ((first < COMP_CWORD)) && _foretoken_list "commands $path" &&
    [[ " $REPLY " == *" ${COMP_WORDS[first]} "* ]]; do
    path+=${path:+ }${COMP_WORDS[first]}
    ((++first))
  done
  # Readline takes "--option=value" apart.
  if [[ $current == = ]]; then
    current=
  elif [[ $option == = ]] && ((COMP_CWORD > 2)); then
    option=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  if _foretoken_list "value $path $option"; then
    _foretoken_offer "$current"
  elif [[ $current == -* ]]; then
    _foretoken_list "options $path" && _foretoken_offer "$current"
  elif ((first == COMP_CWORD)) && _foretoken_list "commands $path"; then
    _foretoken_offer "$current"
  elif _foretoken_list "argument $path"; then
    _foretoken_offer "$current"
  fi
}

complete -F _foretoken foretoken
)";

std::string Spaced(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text.append(text.empty() ? "" : " ").append(word);
  return text;
}

std::string WhatCompletes(const OptionDefinition& option) {
  if (option.values.is_file) return ":file";
  const std::string values = Spaced(PlainValues(option));
  return values.empty() ? ":text" : values;
}

void AddCase(const std::vector<std::string>& places, const std::string& words,
             std::string& script) {
  std::string labels;
  for (const std::string& place : places)
    labels.append(labels.empty() ? "" : " | ").append(ShellQuoted(place));
  script += "    " + labels + ") REPLY=" + ShellQuoted(words) + " ;;\n";
}

void AddCases(const std::string& path, const CommandDefinition& command, std::string& script) {
  std::vector<std::string> parts, options;
  for (const CommandDefinition& part : command.parts) parts.push_back(part.name);
  if (!parts.empty()) AddCase({"commands " + path}, Spaced(parts), script);
  for (const OptionDefinition& option : command.options) {
    std::vector<std::string> places;
    for (const std::string& name : option.names) {
      if (name.starts_with("--")) options.push_back(name);
      places.push_back("value " + path + " " + name);
    }
    if (!places.empty() && option.takes_value()) AddCase(places, WhatCompletes(option), script);
  }
  AddCase({"options " + path}, Spaced(options), script);
  if (const OptionDefinition* argument = CompletedArgument(command))
    AddCase({"argument " + path}, WhatCompletes(*argument), script);
  else if (command.is_partial)
    AddCase({"argument " + path}, ":file", script);
}

}  // namespace

std::string BashCompletion(std::span<const CommandDefinition> commands) {
  std::string script = kBashHead;
  std::vector<std::string> names;
  for (const CommandDefinition& command : commands) names.push_back(command.name);
  AddCase({"commands "}, Spaced(names), script);
  AddCase({"options "}, "--help --version", script);
  ForEachPath(commands, [&](const std::string& path, const CommandDefinition& command) {
    AddCases(path, command, script);
  });
  return script + kBashTail;
}

}  // namespace foretoken
