// One other engine: how it is asked, and what it says of its speed.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace foretoken {

// A way to decode that peers have, and the one of ours to set beside it.
struct PeerMode {
  std::string name, drafter;
  // The command lines that may do it, as far as their programs are here: the path, then arguments.
  std::vector<std::vector<std::string>> commands;
};

// Every mode of peers.def, in order. `folder`: where the programs are; empty: on PATH.
// `draft_model`: modes that need one have no commands without it.
std::vector<PeerMode> FindPeers(const std::string& folder, const std::string& draft_model);

struct PeerAnswer {
  std::string text;
  double tokens_per_second = 0;  // of the answer, the prompt's time left out; 0 of an empty one
};

// What all command lines share: the model, the prompt's file, tokens, threads; greedily.
struct PeerTask {
  std::string model, prompt_file;
  int new_tokens = 0, threads = 0, context = 0;
};

// Asks with the first command that answers, and drops those before it. Errors: none does; the last
// one's words.
Result<PeerAnswer> AskPeer(PeerMode* mode, const PeerTask& task);

// The rate in what a peer printed: "decoded N tokens in S seconds, speed: R t/s", or else
// "eval time = T ms / N runs (..., R tokens per second)"; 0 for no tokens in no time;
// nothing where it has neither.
std::optional<double> PeerRate(const std::string& printed);

}  // namespace foretoken
