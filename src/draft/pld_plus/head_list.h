// The attention heads that PLD+(a) reads: a list from `foretoken find-heads`, an option, or all.
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

constexpr int kMostCopyHeads = 50;  // the paper's number, for models of 1,024 heads or more (P-15)

// The default number of heads to read in a model that has `heads` heads in total: the paper's share
// of them, at most kMostCopyHeads. Smaller models have fewer heads that copy, and drafts get worse
// if other heads are added.
constexpr int UsualHeads(int heads) {
  constexpr int kPaperHeads = 1024;
  return std::clamp((heads * kMostCopyHeads + kPaperHeads / 2) / kPaperHeads, 1, kMostCopyHeads);
}

// `value` is one of: null or "all" (every head); "layer:N" (every head of layer N, from 0); an
// array of [layer, head, ...]; an object with such an array under "heads"; the name of a JSON file
// with such an array or object. Only the first `top` entries of an array are used. The result is
// sorted by layer. Errors: an unreadable file, an ill-formed or empty list, a head that the model
// lacks.
Result<std::vector<AttentionHead>> ReadHeadList(const Json* value, int top, int layers, int heads);

// The list that comes with a model: the file PATH.heads.json, or else the GGUF metadata
// "foretoken.pld_plus.heads" (layer, head, layer, head, ...). Null if there is neither.
Json HeadsOfModel(const std::string& path);

// The remark (Drafter::Remark) for the model at `path` if it has no such list; empty if `path` is
// empty.
std::string NoHeadsRemark(const std::string& path);

}  // namespace foretoken
