// How tokens are sampled, as a command line says it, over what the model's file suggests.
#pragma once

#include "base/result.h"
#include "io/model_file.h"
#include "verify/sampling.h"

namespace foretoken {

struct SamplingArgs {
  SamplingParams params;
  bool model_defaults = false;
  // Whether they were typed, and so outrank the model's defaults.
  bool has_temperature = false, has_top_k = false, has_top_p = false;
};

// The parameters asked for, over the model's own defaults if --model-defaults. Errors: see
// Validate and CheckBias.
Result<SamplingParams> ResolveSampling(const SamplingArgs& args, const ModelFile& file);

}  // namespace foretoken
