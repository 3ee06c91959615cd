#include "eval/peers/peer_run.h"

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <string_view>

#include "eval/peers/subprocess.h"

namespace foretoken {
namespace {

constexpr std::string_view kDraftPlaceholder = "DRAFT";
// Maximum number of runs of a command for one answer: some peers log from a background thread,
// so the end of the log is sometimes lost.
constexpr int kTries = 4;

// A line of peers.def.
struct PeerLine {
  const char *mode, *drafter, *program, *arguments;
};
constexpr PeerLine kPeerLines[] = {
#define FT_PEER(mode, drafter, program, arguments) {mode, drafter, program, arguments},
#include "eval/peers/peers.def"
#undef FT_PEER
};

// Returns the command line, or an empty one if its program or the draft it needs is missing.
std::vector<std::string> CommandOf(const PeerLine& line, const std::string& folder,
                                   const std::string& draft_model) {
  const std::string program = FindProgram(line.program, folder);
  const bool needs_draft =
      std::string_view(line.arguments).find(kDraftPlaceholder) != std::string_view::npos;
  if (program.empty() || (needs_draft && draft_model.empty())) return {};
  std::vector<std::string> command{program};
  std::istringstream words(line.arguments);
  for (std::string word; words >> word;) {
    command.push_back(word == kDraftPlaceholder ? draft_model : word);
  }
  return command;
}

// Parses the number before the last `unit`: 0 for "inf", nullopt if there is none.
std::optional<double> NumberBefore(std::string_view line, std::string_view unit) {
  const size_t end = line.rfind(unit);
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view before = line.substr(0, end);
  const size_t last = before.find_last_not_of(' ');
  if (last == std::string_view::npos) return std::nullopt;
  if (before.substr(0, last + 1).ends_with("inf")) return 0;
  const size_t first = before.find_last_not_of("0123456789.", last);
  const std::string number(before.substr(first + 1, last - first));
  if (number.empty()) return std::nullopt;
  return std::strtod(number.c_str(), nullptr);
}

// Returns the last line that is not blank.
std::string LastLine(const std::string& text) {
  std::string last;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.find_first_not_of(" \t\r") != std::string::npos) last = line;
  }
  return last;
}

// Runs a command until it reports its speed, at most kTries times.
Result<PeerAnswer> RunCommand(const std::vector<std::string>& command) {
  ProcessOutput output;
  for (int tries = 0; tries < kTries && output.status == 0; ++tries) {
    FT_ASSIGN_OR_RETURN(output, RunProcess(command));
    const auto rate = ParsePeerRate(output.err + "\n" + output.out);
    if (output.status == 0 && rate) return PeerAnswer{output.out, *rate};
  }
  return Error{command[0] + ": exited with status " + std::to_string(output.status) +
               (output.status == 0 ? " but reported no speed" : "") + ": " + LastLine(output.err)};
}

}  // namespace

std::vector<PeerMode> FindPeers(const std::string& folder, const std::string& draft_model) {
  std::vector<PeerMode> modes;
  for (const PeerLine& line : kPeerLines) {
    auto mode = std::ranges::find(modes, line.mode, &PeerMode::name);
    if (mode == modes.end()) mode = modes.insert(mode, PeerMode{line.mode, line.drafter, {}});
    std::vector<std::string> command = CommandOf(line, folder, draft_model);
    if (!command.empty()) mode->commands.push_back(std::move(command));
  }
  return modes;
}

std::optional<double> ParsePeerRate(const std::string& output) {
  std::optional<double> decoded_rate, eval_rate;
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    if (line.find("decoded") != std::string::npos) {
      const auto rate = NumberBefore(line, "t/s");
      if (rate) decoded_rate = rate;
    }
    const bool is_prompt = line.find("prompt eval time") != std::string::npos;
    if (line.find("eval time =") == std::string::npos || is_prompt) continue;
    const auto rate = NumberBefore(line, "tokens per second");
    if (rate) eval_rate = rate;
  }
  return decoded_rate ? decoded_rate : eval_rate;
}

Result<PeerAnswer> AskPeer(PeerMode* mode, const PeerTask& task) {
  std::string message = mode->name + ": no program found (or no draft model given)";
  while (!mode->commands.empty()) {
    std::vector<std::string> command = mode->commands.front();
    for (const std::string& word :
         {std::string("-m"), task.model, std::string("-f"), task.prompt_file, std::string("-n"),
          std::to_string(task.new_tokens), std::string("-t"), std::to_string(task.threads),
          std::string("-c"), std::to_string(task.context), std::string("--temp"),
          std::string("0")}) {
      command.push_back(word);
    }
    auto answer = RunCommand(command);
    if (answer.ok()) return answer;
    message = answer.error().message;
    mode->commands.erase(mode->commands.begin());
  }
  return Error{message};
}

}  // namespace foretoken
