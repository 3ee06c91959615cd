// The words users say about sampling: names of steps and ranges of values.
#include <algorithm>
#include <array>
#include <cmath>

#include "base/comma_list.h"
#include "verify/sampling.h"

namespace foretoken {
namespace {

struct StepName {
  std::string_view name;
  LogitsStep step;
};
constexpr std::array<StepName, 8> kSteps{{
    {"bias", LogitsStep::kLogitBias},
    {"temperature", LogitsStep::kTemperature},
    {"repetition", LogitsStep::kRepetitionPenalty},
    {"frequency", LogitsStep::kFrequencyPresence},
    {"top-p", LogitsStep::kTopP},
    {"min-p", LogitsStep::kMinP},
    {"typical-p", LogitsStep::kTypicalP},
    {"top-k", LogitsStep::kTopK},
}};

Result<LogitsStep> ParseStep(std::string_view name) {
  for (const StepName& s : kSteps) {
    if (s.name == name) return s.step;
  }
  return Error{"sampling order: no step '" + std::string(name) +
               "'; known: " + CommaList(kSteps, &StepName::name)};
}

Status CheckRange(std::string_view option, float value, float low, float high) {
  if (value >= low && value <= high) return {};  // false for NaN, too
  return Error{std::string(option) + ": found " + std::to_string(value) + ", expected " +
               std::to_string(low) + " to " + std::to_string(high)};
}

}  // namespace

Result<std::vector<LogitsStep>> ParseLogitsOrder(std::string_view text) {
  std::vector<LogitsStep> order;
  while (true) {
    const size_t comma = text.find(',');
    FT_ASSIGN_OR_RETURN(const LogitsStep step, ParseStep(text.substr(0, comma)));
    if (std::find(order.begin(), order.end(), step) != order.end()) {
      return Error{"sampling order: '" + std::string(text.substr(0, comma)) + "' is named twice"};
    }
    order.push_back(step);
    if (comma == std::string_view::npos) return order;
    text.remove_prefix(comma + 1);
  }
}

Status Validate(const SamplingParams& params) {
  constexpr float kHuge = 1e6f;
  FT_RETURN_IF_ERROR(CheckRange("temperature", params.temperature, 0, 100));
  FT_RETURN_IF_ERROR(CheckRange("top-p", params.top_p, 1e-8f, 1));
  FT_RETURN_IF_ERROR(CheckRange("min-p", params.min_p, 0, 1));
  FT_RETURN_IF_ERROR(CheckRange("typical-p", params.typical_p, 1e-8f, 1));
  FT_RETURN_IF_ERROR(CheckRange("repetition-penalty", params.repetition_penalty, 1e-3f, 1e3f));
  FT_RETURN_IF_ERROR(CheckRange("frequency-penalty", params.frequency_penalty, -kHuge, kHuge));
  FT_RETURN_IF_ERROR(CheckRange("presence-penalty", params.presence_penalty, -kHuge, kHuge));
  if (params.top_k < 0) return Error{"top-k: found a negative number, expected 0 (off) or more"};
  if (params.penalty_last_n < -1) {
    return Error{"penalty-last-n: found " + std::to_string(params.penalty_last_n) +
                 ", expected -1 (all) or more"};
  }
  for (const auto& [token, bias] : params.logit_bias) {
    if (token < 0 || std::isnan(bias)) {
      return Error{"logit-bias: expected a token id of 0 or more and a number"};
    }
  }
  return {};
}

}  // namespace foretoken
