// What the commands share: parsing their options with the exit statuses of command.h, or showing
// them to whoever describes the command, and failing with a sentence.
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

// Parses the options of one command, llama.cpp's where it takes them (llama_options.h). Returns the
// status to exit with after --help or bad usage, nothing when the command should run. A command
// calls it before it does any work: under a DefinitionVisit nothing must happen.
std::optional<int> ParseCommandLine(CLI::App& app, int argc, char** argv);

// While it lives, ParseCommandLine parses nothing: it shows the definition to `visit` and returns
// kExitDone, so that running a command describes it. One at a time, in the main thread.
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

// A range that error messages name and --help does not.
inline CLI::Validator Within(int low, int high) { return CLI::Range(low, high).description(""); }

// Prints the sentence, what files put into it made legible; for `return Failed(error)`.
inline int Failed(const Error& error) {
  std::fprintf(stderr, "foretoken: %s\n", Legible(error.message).c_str());
  return kExitFailed;
}

// Prints the sentence; for an option's value that cannot be.
inline int BadUsage(const Error& error) {
  std::fprintf(stderr, "foretoken: %s\n", Legible(error.message).c_str());
  return kExitUsage;
}

// Opens an output that may replace a file only where `force` says so.
inline Result<OutputFile> OpenOutput(const std::string& path, bool force) {
  FT_ASSIGN_OR_RETURN(OutputFile file, OutputFile::Open(path));
  FT_RETURN_IF_ERROR(CheckReplaces(path, force));
  return file;
}

// The same without opening it for the work: for functions that open their output once the input is
// open.
inline Status CheckOutput(const std::string& path, bool force) {
  FT_ASSIGN_OR_RETURN(const OutputFile may_be_written, OpenOutput(path, force));
  return {};
}

// Refuses what cannot be written, for options that name a file to be written when the work is done.
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
