// GLIDE drafts of random weights for tests, and the engine's draft steps on given tokens, for
// comparing training with inference.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "draft/glide/glide_net.h"
#include "draft/weights_testing.h"

namespace foretoken {

// The geometry and fingerprint of a draft of `layers` layers, wider than its target, with as many
// key/value heads as query heads. Without cross-attention it is a Vanilla Drafter.
DraftInfo GlideInfo(const TestTarget& target, int layers, bool has_cross_attention);

// Weights for a draft with metadata `info` that predict the most common follower of a token,
// disturbed by random attention.
DraftBuilder RandomGlide(const TestTarget& target, const DraftInfo& info, uint64_t seed);

// The target's cache type and layer that TraceGlide uses.
struct GlideTraceOptions {
  DType target_cache = DType::kF32;
  int kv_layer = 0;  // see GlideNet::Load
};

// The logits of draft steps in f32, [1 + drafted, vocab]: after the root and after each drafted
// token. The engine computes them once the target has scored the text before the root. `tokens`:
// x_0 ... x_t, the root last. `drafted`: a chain below the root. REQUIRES: t >= 1; all rows fit
// target.max_rows().
Result<std::vector<float>> TraceGlide(const std::string& draft, Model& target,
                                      std::span<const Token> tokens, std::span<const Token> drafted,
                                      const GlideTraceOptions& options = {});

// A cache of the target with `tokens` committed.
std::unique_ptr<KvCache> CacheOf(Model& target, std::span<const Token> tokens, DType type);

}  // namespace foretoken
