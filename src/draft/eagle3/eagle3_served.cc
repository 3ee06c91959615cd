// EAGLE-3 as vLLM, SGLang and EAGLE's own code load it.
#include <algorithm>
#include <array>

#include "base/json.h"
#include "draft/eagle3/eagle3_spec.h"
#include "draft/served_layout.h"

namespace foretoken {
namespace {

constexpr std::array kEagle3Methods = {Eagle3Spec::kMethod};
constexpr ServedForm kEagle3Forms[] = {{"eagle", "LlamaForCausalLMEagle3", true},
                                       {"vllm", "LlamaForCausalLMEagle3", false},
                                       {"sglang", "LlamaForCausalLMEagle3", false}};

// vLLM numbers a hidden state by the layer that it is the input of, SGLang by the layer that it is
// the output of. EAGLE's code supports only the states of Eagle3Spec::Taps.
Status AdaptEagle3(const ServedForm& form, const DraftInfo& info, const std::string& path,
                   Json& config, std::vector<ServedTensor>& /*tensors*/) {
  config[Eagle3Spec::kVocabField] = info.blocks.vocab;
  const int layers = info.target.layers;
  std::vector<int> taps = info.taps;
  for (int& tap : taps) tap += tap < 0 ? layers + 1 : 0;
  const bool reads_default_taps = taps.empty() || taps == Eagle3Spec::Taps(layers);
  if (reads_default_taps) return {};
  const bool has_fixed_taps = form.layout == "eagle";
  if (has_fixed_taps || taps.front() < 1 || taps.back() >= layers) {
    return Error{path + ": reads hidden states " + JsonText(Json(taps)) + ", expected " +
                 (has_fixed_taps ? "2, N/2 and N - 3 of the target's N layers"
                                 : "states between two layers") +
                 " for layout '" + std::string(form.layout) + "'"};
  }
  if (form.layout == "vllm") {
    config[Eagle3Spec::kTapsField] = taps;
    return {};
  }
  for (int& tap : taps) --tap;
  config[Eagle3Spec::kNestedConfig] = {{Eagle3Spec::kTapsField, taps},
                                       {"use_aux_hidden_state", true}};
  return {};
}

}  // namespace

extern const ServedLayout kServed_eagle3;
const ServedLayout kServed_eagle3 = {kEagle3Methods, kEagle3Forms, Eagle3Spec::PublishedName,
                                     AdaptEagle3, Eagle3Spec::kTokenMap};

}  // namespace foretoken
