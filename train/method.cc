#include "method.h"

#include <array>

namespace foretoken::train {

#define FT_METHOD(name) extern const Method kMethod_##name;
#include "methods.def"
#undef FT_METHOD

std::span<const Method* const> AllMethods() {
  static constexpr std::array kAll = {
#define FT_METHOD(name) &kMethod_##name,
#include "methods.def"
#undef FT_METHOD
  };
  return kAll;
}

const Method* FindMethod(const std::string& name) {
  for (const Method* method : AllMethods()) {
    if (name == method->name) return method;
  }
  return nullptr;
}

torch::ScalarType ComputeType(const Recipe& r) {
  return r.dtype == "f32" ? torch::kFloat32 : torch::kBFloat16;
}

WeightOptions WeightOptionsOf(const Recipe& r, torch::Device device) {
  return {ComputeType(r), device, NormalWeights(static_cast<uint64_t>(r.seed))};
}

}  // namespace foretoken::train
