#include "io/weights_hash.h"

#include <algorithm>
#include <span>

#include "base/hash.h"
#include "base/rng.h"

namespace foretoken {

uint64_t HashWeights(const ModelFile& file) {
  uint64_t weights = 0;
  for (const TensorSource& tensor : file.tensors()) {
    weights = Mix(weights ^ HashBytes(std::as_bytes(std::span(tensor.name))));
    weights = Mix(weights ^ HashBytes(tensor.bytes));
    file.Release(tensor);
  }
  return weights;
}

uint64_t SampleWeights(const ModelFile& file) {
  constexpr size_t kSample = 4096;
  uint64_t weights = 0;
  for (const TensorSource& tensor : file.tensors()) {
    weights = Mix(weights ^ HashBytes(std::as_bytes(std::span(tensor.name))));
    weights = Mix(weights ^ static_cast<uint64_t>(tensor.type));
    weights = Mix(weights ^ HashBytes(std::as_bytes(std::span(tensor.shape))));
    const auto head = tensor.bytes.first(std::min(kSample, tensor.bytes.size()));
    weights = Mix(weights ^ HashBytes(head));
  }
  return weights;
}

}  // namespace foretoken
