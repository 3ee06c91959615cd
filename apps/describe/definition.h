// A command as its definition has it, in plain values: what its manual page and its completions are
// made of.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "apps/command_list.h"
#include "apps/option_values.h"

namespace foretoken {

struct OptionDefinition {
  std::vector<std::string> names;  // as typed, short ones first; none of an argument by position
  std::string position;            // the name of an argument by position
  std::string type;                // of the value, "FILE"; "" where there is none
  OptionValues values;
  std::string range;          // "1 to 1024", or ""
  std::string default_value;  // where the help does not say it
  std::string environment;    // the variable that gives the value, or ""
  std::string group;          // its heading in --help
  std::string help;           // a line, and further lines of values that it may have
  bool is_required = false;
  bool is_repeatable = false;
  std::vector<std::string> excludes, needs;  // other options, as typed

  bool is_argument() const { return names.empty(); }
  bool takes_value() const { return !type.empty(); }
};

struct CommandDefinition {
  std::string name;         // as typed after what it is part of: "bench", and "decode" in it
  std::string summary;      // a phrase
  std::string description;  // a sentence
  std::string footer;       // what --help ends with: prose, examples, exit statuses
  std::vector<OptionDefinition> options;  // in the order of --help; groups may be scattered
  std::vector<CommandDefinition> parts;
  // It has options that another parser knows: only its --help tells them.
  bool is_partial = false;
};

// The definition that `app` holds. Name and summary are the app's own, for parts.
CommandDefinition DefinitionOf(CLI::App& app);

// What running the command would parse. Nothing else of it runs.
CommandDefinition ReadDefinition(const Subcommand& command);

}  // namespace foretoken
