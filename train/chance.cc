#include "chance.h"

#include "base/rng.h"
#include "op_dispatch.h"

namespace foretoken::train {

using torch::Tensor;

Tensor Chosen(double probability, uint64_t key, int64_t count) {
  Tensor chosen = torch::empty({count}, torch::kBool);
  bool* out = chosen.data_ptr<bool>();
  ForRows(count, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const uint64_t bits = Mix(key ^ static_cast<uint64_t>(i)) >> 11;
      out[i] = static_cast<double>(bits) * 0x1.0p-53 < probability;
    }
  });
  return chosen;
}

Tensor Dropped(const Tensor& x, double rate, uint64_t key) {
  if (rate == 0.0) return x;
  const Tensor dropped = Chosen(rate, key, x.numel()).view(x.sizes()).to(x.device());
  return (x * (1.0 / (1.0 - rate))).masked_fill(dropped, 0.0);
}

}  // namespace foretoken::train
