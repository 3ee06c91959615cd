#include "model/taps.h"

#include <algorithm>
#include <iterator>

namespace foretoken {
namespace {

std::vector<int> Union(const std::vector<int>& a, const std::vector<int>& b) {
  std::vector<int> out;
  std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(out));
  return out;
}

}  // namespace

TapSpec Merge(const TapSpec& a, const TapSpec& b) {
  return {.hidden = Union(a.hidden, b.hidden),
          .queries = Union(a.queries, b.queries),
          .kv_layers = Union(a.kv_layers, b.kv_layers),
          .head_input = a.head_input || b.head_input,
          .answers = a.answers || b.answers};
}

}  // namespace foretoken
