#include "io/torch/tensor_pickle.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "base/legible.h"
#include "io/torch/pickle_values.h"

namespace foretoken {
namespace {

enum Op : uint8_t {
  kMark = '(',
  kStop = '.',
  kNone = 'N',
  kTrue = 0x88,
  kFalse = 0x89,
  kInt4 = 'J',
  kInt1 = 'K',
  kInt2 = 'M',
  kLong1 = 0x8a,
  kFloat = 'G',
  kUnicode = 'X',
  kShortUnicode = 0x8c,
  kProto = 0x80,
  kFrame = 0x95,
  kEmptyDict = '}',
  kEmptyList = ']',
  kEmptyTuple = ')',
  kTuple = 't',
  kTuple1 = 0x85,
  kTuple2 = 0x86,
  kTuple3 = 0x87,
  kAppend = 'a',
  kAppends = 'e',
  kSetItem = 's',
  kSetItems = 'u',
  kBuild = 'b',
  kReduce = 'R',
  kPersistentId = 'Q',
  kGlobal = 'c',
  kStackGlobal = 0x93,
  kPut = 'q',
  kLongPut = 'r',
  kMemoize = 0x94,
  kGet = 'h',
  kLongGet = 'j',
};

class PickleReader {
 public:
  PickleReader(std::span<const std::byte> bytes, const std::string& origin)
      : bytes_(bytes), origin_(origin) {}

  Result<std::vector<PickledTensor>> Read() {
    while (status_.ok() && !stopped_) Step();
    FT_RETURN_IF_ERROR(status_);
    const Value result = Pop();
    const auto* dictionary = std::get_if<std::shared_ptr<Dictionary>>(&result);
    if (dictionary == nullptr) return Error{origin_ + ": holds no dictionary of tensors"};
    return std::move((*dictionary)->tensors);
  }

 private:
  void Fail(const std::string& what) {
    if (status_.ok()) status_ = Error{origin_ + ": " + what};
  }

  // --- bytes ---
  template <typename T>
  T Take() {
    T value{};
    const std::string_view raw = Raw(sizeof value);
    if (raw.size() == sizeof value) std::memcpy(&value, raw.data(), sizeof value);
    return value;
  }

  std::string_view Raw(uint64_t size) {
    if (size > bytes_.size() - at_) return Fail("the pickle is truncated"), std::string_view();
    const auto* from = reinterpret_cast<const char*>(bytes_.data()) + at_;
    at_ += size;
    return {from, size};
  }

  std::string_view Line() {
    const auto* from = reinterpret_cast<const char*>(bytes_.data()) + at_;
    const void* end = std::memchr(from, '\n', bytes_.size() - at_);
    if (end == nullptr) return Fail("the pickle is truncated"), std::string_view();
    const std::string_view line(from, static_cast<const char*>(end) - from);
    at_ += line.size() + 1;
    return line;
  }

  // --- stack ---
  void Push(Value value) { stack_.push_back(std::move(value)); }

  Value Pop() {
    if (stack_.empty()) return Fail("the pickle's stack is empty"), Value();
    Value value = std::move(stack_.back());
    stack_.pop_back();
    return value;
  }

  // Pops the values pushed since the last mark.
  std::vector<Value> PopToMark() {
    auto mark = stack_.end();
    while (mark != stack_.begin() && !std::holds_alternative<Mark>(*std::prev(mark))) --mark;
    if (mark == stack_.begin()) return Fail("the pickle's mark is missing"), std::vector<Value>();
    std::vector<Value> items(std::make_move_iterator(mark), std::make_move_iterator(stack_.end()));
    stack_.erase(std::prev(mark), stack_.end());
    return items;
  }

  std::vector<Value> PopCount(size_t count) {
    std::vector<Value> items(count);
    for (size_t i = count; i-- > 0;) items[i] = Pop();
    return items;
  }

  template <typename T>
  T As(const Value& value, const char* what) {
    if (const T* found = std::get_if<T>(&value)) return *found;
    Fail(std::string("the pickle holds something else where ") + what + " is expected");
    return T{};
  }

  // --- program ---
  void Step() {
    switch (const auto op = Take<uint8_t>()) {
      case kProto:
        Take<uint8_t>();
        return;
      case kFrame:
        Take<uint64_t>();
        return;
      case kStop:
        stopped_ = true;
        return;
      case kMark:
        return Push(Mark{});
      case kNone:
        return Push(None{});
      case kTrue:
        return Push(int64_t{1});
      case kFalse:
        return Push(int64_t{0});
      case kInt1:
        return Push(int64_t{Take<uint8_t>()});
      case kInt2:
        return Push(int64_t{Take<uint16_t>()});
      case kInt4:
        return Push(int64_t{Take<int32_t>()});
      case kLong1:
        return Push(Long(Raw(Take<uint8_t>())));
      case kFloat:
        Raw(8);
        return Push(None{});
      case kUnicode:
        return Push(Raw(Take<uint32_t>()));
      case kShortUnicode:
        return Push(Raw(Take<uint8_t>()));
      case kEmptyDict:
        return Push(std::make_shared<Dictionary>());
      case kEmptyList:
        return Push(List{});
      case kEmptyTuple:
        return PushTuple({});
      case kTuple1:
      case kTuple2:
      case kTuple3:
        return PushTuple(PopCount(op - kTuple1 + 1u));
      case kTuple:
        return PushTuple(PopToMark());
      case kAppend:
        Pop();
        return;
      case kAppends:
        PopToMark();
        return;
      case kSetItem:
        return SetItems(PopCount(2));
      case kSetItems:
        return SetItems(PopToMark());
      case kBuild:
        Pop();
        return;  // drops attributes, such as _metadata
      case kPersistentId:
        return PushStorage(Pop());
      case kReduce:
        return Reduce();
      case kGlobal: {
        const std::string_view module = Line();
        return PushGlobal(module, Line());
      }
      case kStackGlobal: {
        const auto name = As<std::string_view>(Pop(), "a name");
        return PushGlobal(As<std::string_view>(Pop(), "a module"), name);
      }
      case kPut:
        return Put(Take<uint8_t>());
      case kLongPut:
        return Put(Take<uint32_t>());
      case kMemoize:
        return Put(static_cast<uint32_t>(memo_.size()));
      case kGet:
        return Get(Take<uint8_t>());
      case kLongGet:
        return Get(Take<uint32_t>());
      default:
        return Fail("the pickle uses instruction " + std::to_string(op) +
                    ", which no dictionary of tensors needs");
    }
  }

  int64_t Long(std::string_view raw) {
    if (raw.size() > 8) return Fail("the pickle holds a number beyond 64 bits"), 0;
    if (raw.empty()) return 0;
    uint64_t bits = static_cast<int8_t>(raw.back()) < 0 ? ~uint64_t{0} : 0;
    std::memcpy(&bits, raw.data(), raw.size());
    return static_cast<int64_t>(bits);
  }

  void PushTuple(std::vector<Value> items) {
    constexpr int kMostDepth = 16;
    Tuple tuple{std::move(items)};
    for (const Value& item : tuple.items) {
      const auto* inner = std::get_if<std::shared_ptr<const Tuple>>(&item);
      if (inner != nullptr) tuple.depth = std::max(tuple.depth, (*inner)->depth + 1);
    }
    if (tuple.depth > kMostDepth) return Fail("the pickle nests tuples too deeply");
    Push(std::make_shared<const Tuple>(std::move(tuple)));
  }

  // Adds pairs to the dictionary on the stack. Only tensors are kept, so a dictionary cannot refer
  // to itself.
  void SetItems(const std::vector<Value>& items) {
    if (stack_.empty() || items.size() % 2 != 0) return Fail("the pickle lacks a dictionary");
    const auto dictionary = As<std::shared_ptr<Dictionary>>(stack_.back(), "a dictionary");
    for (size_t i = 0; i < items.size() && status_.ok(); i += 2) {
      const auto* tensor = std::get_if<std::shared_ptr<const PickledTensor>>(&items[i + 1]);
      if (tensor == nullptr) continue;
      PickledTensor named = **tensor;
      named.name = As<std::string_view>(items[i], "a tensor's name");
      dictionary->tensors.push_back(std::move(named));
    }
  }

  void PushGlobal(std::string_view module, std::string_view name) {
    for (const KnownName& known : kKnownNames) {
      if (known.module == module && known.name == name) return Push(known.callable);
    }
    for (const StorageType& type : kStorageTypes) {
      if (module == "torch" && type.name == name) return Push(&type);
    }
    Fail("the pickle names " + Printable(module) + "." + Printable(name) +
         ", expected nothing but tensors and what they are made of");
  }

  // Pushes the storage of a persistent id: ("storage", type, key, device, elements).
  void PushStorage(const Value& id) {
    const auto tuple = As<std::shared_ptr<const Tuple>>(id, "a storage");
    if (tuple == nullptr || tuple->items.size() != 5) return Fail("a storage has no five parts");
    const auto* type = As<const StorageType*>(tuple->items[1], "a storage's type");
    Push(Storage{type, As<std::string_view>(tuple->items[2], "a storage's key")});
  }

  void Reduce() {
    const auto arguments = As<std::shared_ptr<const Tuple>>(Pop(), "arguments");
    const auto callable = As<Callable>(Pop(), "a known callable");
    if (!status_.ok()) return;
    if (callable == Callable::kOrderedDict) return Push(std::make_shared<Dictionary>());
    if (callable == Callable::kTensor) return PushTensor(arguments->items);
    if (arguments->items.empty()) return Fail("a parameter has no tensor");
    Push(As<std::shared_ptr<const PickledTensor>>(arguments->items[0], "a tensor"));
  }

  // Pushes the tensor that _rebuild_tensor_v2 makes of (storage, offset, shape, strides, ...).
  void PushTensor(const std::vector<Value>& arguments) {
    if (arguments.size() < 4) return Fail("a tensor has fewer than four parts");
    const auto storage = As<Storage>(arguments[0], "a storage");
    PickledTensor tensor;
    tensor.offset = As<int64_t>(arguments[1], "an offset");
    tensor.shape = Sizes(arguments[2]);
    tensor.strides = Sizes(arguments[3]);
    if (!status_.ok()) return;
    tensor.dtype = storage.type->dtype;
    tensor.element_bytes = storage.type->bytes;
    tensor.storage = storage.key;
    Push(std::make_shared<const PickledTensor>(std::move(tensor)));
  }

  std::vector<int64_t> Sizes(const Value& value) {
    constexpr size_t kMostDimensions = 8;
    std::vector<int64_t> sizes;
    const auto tuple = As<std::shared_ptr<const Tuple>>(value, "sizes");
    if (tuple == nullptr) return sizes;
    if (tuple->items.size() > kMostDimensions) Fail("a tensor has too many dimensions");
    for (const Value& item : tuple->items) {
      if (!status_.ok()) break;
      sizes.push_back(As<int64_t>(item, "a size"));
    }
    return sizes;
  }

  void Put(uint32_t index) {
    if (stack_.empty()) return Fail("the pickle's stack is empty");
    memo_[index] = stack_.back();
  }

  void Get(uint32_t index) {
    const auto found = memo_.find(index);
    if (found == memo_.end()) return Fail("the pickle recalls what it never kept");
    Push(found->second);
  }

  std::span<const std::byte> bytes_;
  const std::string& origin_;
  size_t at_ = 0;
  bool stopped_ = false;
  Status status_;
  std::vector<Value> stack_;
  std::map<uint32_t, Value> memo_;
};

}  // namespace

Result<std::vector<PickledTensor>> ReadTensorPickle(std::span<const std::byte> bytes,
                                                    const std::string& origin) {
  return PickleReader(bytes, origin).Read();
}

}  // namespace foretoken
