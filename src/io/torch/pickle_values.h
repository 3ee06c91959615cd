// Values on the stack of the pickle interpreter (tensor_pickle.h). Include only in
// tensor_pickle.cc.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <variant>
#include <vector>

#include "io/torch/tensor_pickle.h"

namespace foretoken {

struct StorageType {
  std::string_view name, dtype;
  int bytes;
};
constexpr StorageType kStorageTypes[] = {
    {"FloatStorage", "F32", 4},  {"HalfStorage", "F16", 2}, {"BFloat16Storage", "BF16", 2},
    {"DoubleStorage", "F64", 8}, {"LongStorage", "I64", 8}, {"IntStorage", "I32", 4},
    {"ShortStorage", "I16", 2},  {"CharStorage", "I8", 1},  {"ByteStorage", "U8", 1},
    {"BoolStorage", "BOOL", 1}};

// The Python names that a pickle may refer to.
enum class Callable : uint8_t { kOrderedDict, kTensor, kParameter };
struct KnownName {
  std::string_view module, name;
  Callable callable;
};
constexpr KnownName kKnownNames[] = {{"collections", "OrderedDict", Callable::kOrderedDict},
                                     {"torch._utils", "_rebuild_tensor_v2", Callable::kTensor},
                                     {"torch._utils", "_rebuild_parameter", Callable::kParameter}};

struct Storage {
  const StorageType* type;
  std::string_view key;
};
struct None {};
struct Mark {};
struct List {};  // its items are not needed
struct Tuple;
struct Dictionary {
  std::vector<PickledTensor> tensors;
};
using Value = std::variant<None, Mark, List, int64_t, std::string_view, Callable,
                           const StorageType*, Storage, std::shared_ptr<const Tuple>,
                           std::shared_ptr<Dictionary>, std::shared_ptr<const PickledTensor>>;
struct Tuple {
  std::vector<Value> items;
  int depth = 0;  // nesting of tuples, limited because destroying them recurses
};

}  // namespace foretoken
