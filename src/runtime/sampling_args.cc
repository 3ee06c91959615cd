#include "runtime/sampling_args.h"

namespace foretoken {

Result<SamplingParams> ResolveSampling(const SamplingArgs& args, const ModelFile& file) {
  SamplingParams params = args.params;
  FT_RETURN_IF_ERROR(Validate(params));
  FT_RETURN_IF_ERROR(CheckBias(params, file.config().vocab));
  if (!args.model_defaults) return params;
  const GenerationDefaults& defaults = file.generation();
  if (!args.has_temperature && defaults.temperature) params.temperature = *defaults.temperature;
  if (!args.has_top_k && defaults.top_k) params.top_k = *defaults.top_k;
  if (!args.has_top_p && defaults.top_p) params.top_p = *defaults.top_p;
  const Status fits = Validate(params);
  if (!fits.ok()) return Error{file.path() + ": sampling defaults: " + fits.error().message};
  return params;
}

}  // namespace foretoken
