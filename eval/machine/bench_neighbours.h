// foretoken bench neighbours.
#pragma once

#include <vector>

#include "apps/command_line.h"
#include "eval/machine/bench.h"

namespace foretoken {

struct NeighbourOptions {
  BenchOptions bench;
  std::vector<int> processes = {2, 4};  // that decode at the same time
  double seconds = 2;                   // of each measurement
};

// Decodes in one process, in several together and beside a busy loop, each with a model of its own.
Status BenchNeighbours(const NeighbourOptions& options);

}  // namespace foretoken
