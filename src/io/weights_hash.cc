#include "io/weights_hash.h"

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

}  // namespace foretoken
