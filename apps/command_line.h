// Functions shared by the commands: parsing options with the exit statuses of command.h, exposing
// their definitions, and reporting errors.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdio>
#include <functional>
#include <optional>
#include <string>

#include "apps/command.h"
#include "apps/option_values.h"
#include "base/legible.h"
#include "base/output_file.h"
#include "base/result.h"
#include "base/writable.h"

namespace foretoken {

// Parses the options of one command, including llama.cpp's where it accepts them (llama_options.h).
// Returns the exit status after --help or bad usage, nothing if the command should run. A command
// must call this before it does any work: under a DefinitionVisit nothing else may happen.
std::optional<int> ParseCommandLine(CLI::App& app, int argc, char** argv);

// While an instance exists, ParseCommandLine does not parse: it passes the command's definition to
// `visit` and returns kExitDone. So running a command yields its definition. One instance at a
// time, in the main thread.
class DefinitionVisit {
 public:
  explicit DefinitionVisit(std::function<void(CLI::App&)> visit);
  ~DefinitionVisit();
  DefinitionVisit(const DefinitionVisit&) = delete;
  DefinitionVisit& operator=(const DefinitionVisit&) = delete;

  static bool IsActive();

 private:
  friend std::optional<int> ParseCommandLine(CLI::App& app, int argc, char** argv);
  std::function<void(CLI::App&)> visit_;
};

// A range that is shown in error messages but not in --help.
inline CLI::Validator Within(int low, int high) { return CLI::Range(low, high).description(""); }

// Prints an error message, with unprintable text from files made legible; for `return
// Failed(error)`.
inline int Failed(const Error& error) {
  std::fprintf(stderr, "foretoken: %s\n", Legible(error.message).c_str());
  return kExitFailed;
}

// Prints an error message; for an invalid value of an option.
inline int BadUsage(const Error& error) {
  std::fprintf(stderr, "foretoken: %s\n", Legible(error.message).c_str());
  return kExitUsage;
}

// Opens an output file. Replaces an existing file only with `force`.
inline Result<OutputFile> OpenOutput(const std::string& path, bool force) {
  FT_ASSIGN_OR_RETURN(OutputFile file, OutputFile::Open(path));
  FT_RETURN_IF_ERROR(CheckReplaces(path, force));
  return file;
}

// Makes the checks of OpenOutput without keeping the file open; for functions that open their
// output only after their input.
inline Status CheckOutput(const std::string& path, bool force) {
  FT_ASSIGN_OR_RETURN(const OutputFile may_be_written, OpenOutput(path, force));
  return {};
}

// A validator of writable paths, for options that name a file written at the end of the work.
inline CLI::Validator WritableFile() {
  return CLI::Validator(
      [](std::string& path) {
        if (path == "-") return std::string();
        const Status writable = CheckWritable(path);
        return writable.ok() ? std::string() : writable.error().message;
      },
      "", kNamesFile);
}

}  // namespace foretoken
