// Command-line options, declared once: parsing, messages and the help text come from the same table.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace foretoken {

class Args {
 public:
  // `synopsis`: what follows "usage: foretoken "; `notes` close the help text.
  Args(std::string synopsis, std::string notes);

  // Opens a group of options in the help text.
  void Group(std::string title);
  // Options that take a value. `names`: "-n, --new-tokens N".
  void Text(std::string names, std::string help, std::string* value);
  void Int(std::string names, std::string help, int* value, int low, int high);
  void Float(std::string names, std::string help, float* value);
  void Each(std::string names, std::string help,
            std::function<Status(std::string_view value)> take);
  // An option without a value.
  void Flag(std::string names, std::string help, bool* value);

  // Reads the arguments after argv[0]. "--name=value" is understood; "--" ends the options. Errors: an
  // unknown option, a missing or bad value, an argument that is not an option.
  Status Parse(int argc, char** argv);
  // Whether --help or -h was among them.
  bool help() const { return help_; }
  std::string HelpText() const;

 private:
  struct Option {
    std::vector<std::string> names;
    std::string shown;  // as declared
    std::string help;
    bool takes_value;
    std::function<Status(std::string_view)> take;
  };
  void Add(std::string names, std::string help, bool takes_value,
           std::function<Status(std::string_view)> take);
  const Option* Find(std::string_view name) const;

  std::string synopsis_, notes_;
  std::vector<Option> options_;  // a group's title has no names
  bool help_ = false;
};

// Parses `args` and deals with --help and mistakes (on stderr, opened by "foretoken COMMAND: ").
// Returns the exit status to leave with, or -1 to go on.
int ParseOrExit(Args& args, std::string_view command, int argc, char** argv);

}  // namespace foretoken
