// Parsing and validation of sampling options: names of steps and ranges of values.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <random>

#include "base/comma_list.h"
#include "base/number_text.h"
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

std::string Short(float value) { return NumberText("%g", value); }

Status OutOfRange(std::string_view option, float value, const std::string& expected) {
  return Error{std::string(option) + ": found " + Short(value) + ", expected " + expected};
}

Status CheckRange(std::string_view option, float value, float low, float high) {
  if (value >= low && value <= high) return {};  // false for NaN too
  return OutOfRange(option, value, Short(low) + " to " + Short(high));
}

// Checks the probability mass that a set of tokens must reach. At 0 the set would be empty and have
// no distribution.
Status CheckMass(std::string_view option, float value) {
  if (value >= 1e-8f && value <= 1) return {};
  return OutOfRange(option, value, "1e-08 to 1 (off)");
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

uint64_t RandomSeed() {
  std::random_device device;
  return static_cast<uint64_t>(device()) << 32 | device();
}

Result<uint64_t> ParseSeed(std::string_view text) {
  if (text == "-1") return RandomSeed();
  uint64_t seed = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seed);
  if (error == std::errc() && end == text.data() + text.size()) return seed;
  return Error{"found '" + std::string(text) + "', expected 0 to " + std::to_string(UINT64_MAX) +
               ", or -1 for a random seed"};
}

Status Validate(const SamplingParams& params) {
  constexpr float kHuge = 1e6f;
  FT_RETURN_IF_ERROR(CheckRange("temperature", params.temperature, 0, 100));
  FT_RETURN_IF_ERROR(CheckMass("top-p", params.top_p));
  FT_RETURN_IF_ERROR(CheckRange("min-p", params.min_p, 0, 1));
  FT_RETURN_IF_ERROR(CheckMass("typical-p", params.typical_p));
  FT_RETURN_IF_ERROR(CheckRange("repetition-penalty", params.repetition_penalty, 1e-3f, 1e3f));
  FT_RETURN_IF_ERROR(CheckRange("frequency-penalty", params.frequency_penalty, -kHuge, kHuge));
  FT_RETURN_IF_ERROR(CheckRange("presence-penalty", params.presence_penalty, -kHuge, kHuge));
  if (params.top_k < 0) {
    return Error{"top-k: found " + std::to_string(params.top_k) + ", expected 0 (off) or more"};
  }
  if (params.penalty_last_n < -1) {
    return Error{"penalty-last-n: found " + std::to_string(params.penalty_last_n) +
                 ", expected -1 (all) or more"};
  }
  for (const auto& [token, bias] : params.logit_bias) {
    if (token < 0 || std::isnan(bias)) {
      return Error{"logit-bias: found " + std::to_string(token) + ":" + Short(bias) +
                   ", expected a token id of 0 or more and a number"};
    }
  }
  return {};
}

Status CheckBias(const SamplingParams& params, int vocab) {
  for (const auto& [token, bias] : params.logit_bias) {
    if (token < vocab) continue;
    return Error{"logit-bias: found token " + std::to_string(token) +
                 ", the model's vocabulary has " + std::to_string(vocab) + " (0 to " +
                 std::to_string(vocab - 1) + ")"};
  }
  return {};
}

}  // namespace foretoken
