// Drafts for other servers: vLLM, SGLang and EAGLE's own code (docs/serve_elsewhere.md).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "io/draft_file.h"

namespace foretoken {

struct ServeRequest {
  std::string directory;      // made where there is none
  std::string layout;         // one of ServedLayouts
  DType type = DType::kBF16;  // of all tensors: F32, F16 or BF16
};

// The files that WriteServedDraft writes.
inline constexpr const char* kServedFiles[] = {"config.json", "model.safetensors"};

// "eagle", "vllm", "sglang": of all methods.
std::vector<std::string> ServedLayouts();

// Writes `draft`, made for `target`, as the directory that a server loads. Errors: a draft for
// another target, a method or a part of it that this server does not load, the system's.
Status WriteServedDraft(const DraftFile& draft, const ModelFile& target,
                        const ServeRequest& request);

}  // namespace foretoken
