// Lets tests go through every set of kernels that this processor has.
#pragma once

namespace foretoken::train {

// The last is the best one.
int AvailableKernelSets();
// BestKernels and BestDraftKernels give set `index` until the next call. REQUIRES: no kernel runs.
void UseKernelSet(int index);

}  // namespace foretoken::train
