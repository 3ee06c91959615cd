// Writes drafts for other servers: vLLM, SGLang and EAGLE's own code (docs/serve_elsewhere.md).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "io/draft_file.h"

namespace foretoken {

struct ServeRequest {
  std::string directory;      // created if it does not exist
  std::string layout;         // one of ServedLayouts
  DType type = DType::kBF16;  // type of all float tensors: F32, F16 or BF16
};

// The files that WriteServedDraft writes.
inline constexpr const char* kServedFiles[] = {"config.json", "model.safetensors"};

// The layouts of all methods: "eagle", "vllm", "sglang".
std::vector<std::string> ServedLayouts();

// Writes `draft`, made for `target`, as a directory that the server of `request.layout` loads.
// Errors: the draft is for another target; the layout does not exist for the draft's method or
// cannot represent a part of the draft; the target has no embedding to copy; a file cannot be
// written.
Status WriteServedDraft(const DraftFile& draft, const ModelFile& target,
                        const ServeRequest& request);

}  // namespace foretoken
