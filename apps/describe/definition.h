// The definition of a command as plain values, the input of its manual page and its completions.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "apps/command_list.h"
#include "apps/option_values.h"

namespace foretoken {

struct OptionDefinition {
  std::vector<std::string> names;  // as typed, short ones first; empty for a positional argument
  std::string position;            // the name of a positional argument
  std::string type;                // of the value, "FILE"; "" if there is none
  OptionValues values;
  std::string range;          // "1 to 1024", or ""
  std::string default_value;  // "" if the help states it
  std::string environment;    // environment variable that provides the value, or ""
  std::string group;          // the option's heading in --help
  std::string help;           // a line, and further lines about its values
  bool is_required = false;
  bool is_repeatable = false;
  std::vector<std::string> excludes, needs;  // other options, as typed

  bool is_argument() const { return names.empty(); }
  bool takes_value() const { return !type.empty(); }
};

struct CommandDefinition {
  std::string name;         // as typed after its parent: "bench", or "decode" for its part
  std::string summary;      // a phrase
  std::string description;  // a sentence
  std::string footer;       // the end of --help: prose, examples, exit statuses
  std::vector<OptionDefinition> options;  // in the order of --help; groups may be interleaved
  std::vector<CommandDefinition> parts;
  // Whether it has options of another parser, which only its --help shows.
  bool is_partial = false;
};

// The definition in `app`. Name and summary are set only for parts.
CommandDefinition DefinitionOf(CLI::App& app);

// The definition that the command would parse its arguments by. Nothing else of the command is run.
CommandDefinition ReadDefinition(const Subcommand& command);

}  // namespace foretoken
