// Sampling parameters from the command line, over the model file's defaults.
#pragma once

#include "base/result.h"
#include "io/model_file.h"
#include "verify/sampling.h"

namespace foretoken {

struct SamplingArgs {
  SamplingParams params;
  bool model_defaults = false;
  // Whether an option was given explicitly, and so overrides the model's default.
  bool has_temperature = false, has_top_k = false, has_top_p = false;
};

// Returns the parameters given, completed by the model's defaults if `model_defaults`. Errors:
// those of Validate and CheckBias.
Result<SamplingParams> ResolveSampling(const SamplingArgs& args, const ModelFile& file);

}  // namespace foretoken
