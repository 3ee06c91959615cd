// foretoken train plot: the one part of `foretoken train` that needs no libtorch.
#pragma once

namespace foretoken {

// argv[0] is "plot".
int TrainPlot(int argc, char** argv);

}  // namespace foretoken
