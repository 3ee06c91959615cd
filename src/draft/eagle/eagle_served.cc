// EAGLE and HASS as vLLM, SGLang and EAGLE's own code load them. Like the draft here, all three
// read the target's last hidden state after its final norm.
#include <algorithm>
#include <array>

#include "base/json.h"
#include "draft/eagle/eagle_spec.h"
#include "draft/served_layout.h"

namespace foretoken {
namespace {

constexpr std::array kEagleMethods = {EagleSpec::kMethod, EagleSpec::kHassMethod};
// vLLM prefixes the class with "Eagle" itself.
constexpr ServedForm kEagleForms[] = {{"eagle", "LlamaForCausalLM", /*holds_embedding=*/true},
                                      {"vllm", "LlamaForCausalLM", /*holds_embedding=*/false},
                                      {"sglang", "LlamaForCausalLMEagle", false}};

// fc always has a bias in SGLang, never in vLLM, and in EAGLE's code if config.json says so.
Status AdaptEagle(const ServedForm& form, const DraftInfo& info, const std::string& path,
                  Json& config, std::vector<ServedTensor>& tensors) {
  const TensorSpec spec = EagleSpec{info.blocks.hidden, info.target.vocab}.ProjectionBias();
  auto bias = std::ranges::find(tensors, spec.name, &ServedTensor::name);
  if (form.layout == "sglang" && bias == tensors.end()) {
    const std::vector<float> zeros(static_cast<size_t>(info.blocks.hidden));
    bias = tensors.insert(tensors.end(), {spec.name, spec.shape, zeros});
  }
  if (form.layout == "vllm" && bias != tensors.end()) {
    const bool is_used = std::ranges::any_of(bias->values, [](float v) { return v != 0.0f; });
    if (is_used) {
      return Error{
          path + ": tensor '" + spec.name +
          "' is not zero, and vLLM's EAGLE has no bias in fc: train with --fc-bias 0, or serve "
          "with SGLang"};
    }
    tensors.erase(bias);
    bias = tensors.end();
  }
  config["bias"] = bias != tensors.end();
  return {};
}

}  // namespace

extern const ServedLayout kServed_eagle;
const ServedLayout kServed_eagle = {kEagleMethods, kEagleForms, EagleSpec::PublishedName,
                                    AdaptEagle};

}  // namespace foretoken
