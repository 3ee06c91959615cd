// How other servers load a method's drafts: from a Hugging Face directory with config.json and
// model.safetensors. A method's layout is defined in draft/METHOD/METHOD_served.cc.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_fwd.h"
#include "io/draft_file.h"

namespace foretoken {

// What one server expects.
struct ServedForm {
  std::string_view layout;      // "eagle", "vllm", "sglang": the value of --layout
  std::string_view class_name;  // in `architectures` of config.json
  bool holds_embedding;         // whether the directory holds a copy of the target's embedding if
                                // the draft shares it
};

struct ServedTensor {
  std::string name;            // foretoken's name
  std::vector<int64_t> shape;  // outermost first
  std::vector<float> values;   // row-major
};

struct ServedLayout {
  std::span<const std::string_view> methods;  // methods whose drafts have this layout
  std::span<const ServedForm> forms;
  // The published name of a tensor; "" if the layout has no place for it.
  std::string (*publish)(std::string_view own);
  // Adds to `config` what the method needs besides the geometry of Llama layers, and adds or
  // removes tensors as the form requires. `path`: the draft's path, for error messages. Errors: the
  // form cannot represent the draft.
  Status (*adapt)(const ServedForm& form, const DraftInfo& info, const std::string& path,
                  Json& config, std::vector<ServedTensor>& tensors);
  std::string_view integers = "";  // foretoken's name of a tensor that is stored as I64
};

// Null if no server loads drafts of this method.
const ServedLayout* FindServedLayout(std::string_view method);

}  // namespace foretoken
