// foretoken bench neighbours: decoding speed while other processes use the cores.
#pragma once

#include <vector>

#include "apps/command_line.h"
#include "eval/machine/bench.h"

namespace foretoken {

struct NeighbourOptions {
  BenchOptions bench;
  // Numbers of processes that decode simultaneously; each is measured bench.repeats times.
  std::vector<int> processes = {2, 4};
  double seconds = 2;  // duration of a measurement
};

// Measures the decoding speed of one process, of several at once (each with its own model), and of
// one beside a busy loop. Errors: a process cannot be started, or fails; an unwritable JSON file.
// REQUIRES: this process has one thread.
Status BenchNeighbours(const NeighbourOptions& options);

}  // namespace foretoken
