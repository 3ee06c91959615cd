// Runs another engine's command-line tool on a prompt and parses the speed that it reports.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace foretoken {

// A decoding mode of other engines, and our drafter that corresponds to it.
struct PeerMode {
  std::string name, drafter;
  // Candidate command lines whose programs were found: path, then arguments.
  std::vector<std::vector<std::string>> commands;
};

// Returns every mode of peers.def, in order. `folder`: where the programs are; empty: on PATH.
// `draft_model`: a GGUF file; without it, modes that need one have no commands.
std::vector<PeerMode> FindPeers(const std::string& folder, const std::string& draft_model);

struct PeerAnswer {
  std::string text;
  double tokens_per_second = 0;  // decoding rate, without prefill; 0 if the peer reports "inf"
};

// The arguments shared by all command lines. Decoding is greedy.
struct PeerTask {
  std::string model, prompt_file;
  int new_tokens = 0, threads = 0, context = 0;
};

// Runs the mode's commands in order until one answers, and removes the failed ones from `mode`.
// Errors: no command was found, or none answers (the message says why the last one could not be
// run, or ends with the last non-blank line of its stderr).
Result<PeerAnswer> AskPeer(PeerMode* mode, const PeerTask& task);

// Parses tokens per second from a peer's output: "decoded N tokens in S seconds, speed: R t/s", or
// else "eval time = T ms / N runs (..., R tokens per second)". Returns 0 for a rate of "inf" (the
// measured time was 0), nullopt if neither line is present.
std::optional<double> ParsePeerRate(const std::string& output);

}  // namespace foretoken
