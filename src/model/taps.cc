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
          .answers = a.answers || b.answers};
}

Taps Taps::Slice(int begin, int count) const {
  Taps slice = *this;
  for (auto& [index, tensor] : slice.hidden_) tensor = tensor.Rows(begin, count);
  for (auto& [layer, tensor] : slice.queries_) tensor = tensor.Rows(begin, count);
  if (!answers_.empty()) {
    slice.answers_ = answers_.subspan(static_cast<size_t>(begin), static_cast<size_t>(count));
  }
  return slice;
}

}  // namespace foretoken
