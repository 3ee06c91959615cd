#include "chance.h"

namespace foretoken::train {

using torch::Tensor;

namespace {

constexpr int64_t kBits = 64;

// Shifts 64-bit integers to the right, as if unsigned.
Tensor ShiftedRight(const Tensor& x, int64_t bits) {
  return x.bitwise_right_shift(bits).bitwise_and((int64_t{1} << (kBits - bits)) - 1);
}

// Applies Mix (base/rng.h) to every element; products wrap.
Tensor MixElements(Tensor x) {
  x = x + static_cast<int64_t>(0x9e3779b97f4a7c15u);
  x = x.bitwise_xor(ShiftedRight(x, 30)) * static_cast<int64_t>(0xbf58476d1ce4e5b9u);
  x = x.bitwise_xor(ShiftedRight(x, 27)) * static_cast<int64_t>(0x94d049bb133111ebu);
  return x.bitwise_xor(ShiftedRight(x, 31));
}

}  // namespace

Tensor DrawnBits(uint64_t key, int64_t count, int64_t bits, torch::Device device) {
  const Tensor indices = torch::arange(count, torch::TensorOptions(device).dtype(torch::kInt64));
  return ShiftedRight(MixElements(indices.bitwise_xor(static_cast<int64_t>(key))), kBits - bits);
}

Tensor Chosen(double probability, uint64_t key, int64_t count, torch::Device device) {
  return DrawnBits(key, count, 53, device).to(torch::kFloat64).mul_(0x1.0p-53).lt(probability);
}

Tensor Dropped(const Tensor& x, double rate, uint64_t key) {
  if (rate == 0.0) return x;
  const Tensor dropped = Chosen(rate, key, x.numel(), x.device()).view(x.sizes());
  return (x * (1.0 / (1.0 - rate))).masked_fill(dropped, 0.0);
}

}  // namespace foretoken::train
