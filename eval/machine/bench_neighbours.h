// foretoken bench neighbours: decoding speed while other processes use the cores.
#pragma once

#include <vector>

#include "apps/command_line.h"
#include "eval/machine/bench.h"

namespace foretoken {

struct NeighbourOptions {
  BenchOptions bench;
  std::vector<int> processes = {2, 4};  // processes that decode at once, a measurement each
  double seconds = 2;                   // of each measurement
};

// Measures decoding in one process, in several at once (each with its own model), and beside a busy
// loop.
Status BenchNeighbours(const NeighbourOptions& options);

}  // namespace foretoken
