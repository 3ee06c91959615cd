// Lets tests run on every set of kernels that this CPU supports.
#pragma once

namespace foretoken::train {

// The number of sets; the last one is the best.
int AvailableKernelSets();
// Makes BestKernels and BestDraftKernels return set `index` until the next call. REQUIRES: no
// kernel runs.
void UseKernelSet(int index);

}  // namespace foretoken::train
