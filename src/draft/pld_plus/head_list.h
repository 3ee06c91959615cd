// The attention heads PLD+(a) listens to: from `foretoken find-heads`, an option, or all of them.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "base/result.h"

namespace foretoken {

struct AttentionHead {
  int layer = 0;
  int head = 0;
  bool operator==(const AttentionHead&) const = default;
};

// How many of a model's `heads` heads to listen to: the paper's 50 are of 1,024 or more (P-15); a
// smaller model has fewer that copy, and the others mislead.
constexpr int kMostHeads = 50;
constexpr int UsualHeads(int heads) {
  constexpr int kPaperHeads = 1024;
  return std::clamp((heads * kMostHeads + kPaperHeads / 2) / kPaperHeads, 1, kMostHeads);
}

// `value`: null or "all" (every head), "layer:N" (every head of that layer, from 0), an array of
// [layer, head, ...], an object with such an array under "heads", or the name of a JSON file that
// holds either. At most `top` of a list's first heads are taken. The result is sorted by layer.
// Errors: unreadable file, ill-formed list, a head the model lacks, an empty list.
Result<std::vector<AttentionHead>> ReadHeadList(const Json* value, int top, int layers, int heads);

// The list that comes with a model: the file PATH.heads.json, or else the GGUF metadata
// "foretoken.pld_plus.heads" (layer, head, layer, head, ...). Null when there is neither.
Json HeadsOfModel(const std::string& path);

// What the user of a model without such a list should know; empty for a model without a path.
std::string NoHeadsRemark(const std::string& path);

}  // namespace foretoken
