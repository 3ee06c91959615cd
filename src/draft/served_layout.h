// How other servers load drafts of a method: a Hugging Face directory of config.json and
// model.safetensors. Each is in the folder of its method, draft/METHOD/METHOD_served.cc.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_fwd.h"
#include "io/draft_file.h"

namespace foretoken {

// What one server wants.
struct ServedForm {
  std::string_view layout;      // "eagle", "vllm", "sglang": the value of --layout
  std::string_view class_name;  // in `architectures` of config.json
  bool holds_embedding;         // the target's, where the draft shares it
};

struct ServedTensor {
  std::string name;            // ours
  std::vector<int64_t> shape;  // outermost first
  std::vector<float> values;   // row-major
};

struct ServedLayout {
  std::span<const std::string_view> methods;  // whose drafts have this layout
  std::span<const ServedForm> forms;
  // The published name of a tensor; "" for one that the layout has no place for.
  std::string (*publish)(std::string_view own);
  // Adds to `config` what it says beside the geometry of Llama's layers, and changes `tensors` to
  // what the form has. `path`, the draft's, opens errors: what the form cannot hold.
  Status (*adapt)(const ServedForm& form, const DraftInfo& info, const std::string& path,
                  Json& config, std::vector<ServedTensor>& tensors);
  std::string_view integers = "";  // our name of a tensor that is stored as I64
};

// Null where no server loads drafts of this method.
const ServedLayout* FindServedLayout(std::string_view method);

}  // namespace foretoken
