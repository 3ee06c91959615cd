// A group of options with one heading in --help.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace foretoken {

// Borrows `app` and `name`.
class OptionGroup {
 public:
  OptionGroup(CLI::App& app, const char* name) : app_(app), name_(name) {}
  template <typename Value>
  CLI::Option* Add(const char* names, Value& value, const char* type, const char* help) {
    return app_.add_option(names, value, help)->type_name(type)->group(name_);
  }
  // Adds an option that may be repeated, with one value each time.
  CLI::Option* AddList(const char* names, std::vector<std::string>& values, const char* type,
                       const char* help) {
    return Add(names, values, type, help)->allow_extra_args(false);
  }
  void AddFlag(const char* names, bool& value, const char* help) {
    app_.add_flag(names, value, help)->group(name_);
  }

 private:
  CLI::App& app_;
  const char* name_;
};

}  // namespace foretoken
