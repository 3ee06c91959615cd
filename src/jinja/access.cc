// Access to attributes, items and slices.
#include <algorithm>

#include "base/division.h"
#include "jinja/methods.h"
#include "jinja/operators.h"
#include "jinja/unicode.h"

namespace foretoken::jinja {
namespace {

Value NoAttribute(const Value& object, std::string_view name) {
  return UndefinedWith("a value of type " + std::string(object.TypeName()) +
                       " has no attribute or item '" + std::string(name) + "'");
}

// A bound method, or undefined. As in the sandbox, names with a leading underscore are hidden.
Value MethodOf(const Value& object, std::string_view name) {
  if (!HasMethod(object, name)) return NoAttribute(object, name);
  auto method = std::make_shared<Callable>();
  method->receiver = object;
  method->name = name;
  return CallablePtr(std::move(method));
}

Value LoopItem(const LoopState& loop, size_t index, std::string_view name) {
  if (index < loop.items->items.size()) return loop.items->items[index];
  return UndefinedWith("there is no loop." + std::string(name) + " here");
}

Value LoopAttribute(const Value& object, std::string_view name) {
  const LoopState& loop = object.loop();
  const auto index = static_cast<int64_t>(loop.index);
  const auto length = static_cast<int64_t>(loop.items->items.size());
  if (name == "index") return Value::Int(index + 1);
  if (name == "index0") return Value::Int(index);
  if (name == "revindex") return Value::Int(length - index);
  if (name == "revindex0") return Value::Int(length - index - 1);
  if (name == "first") return Value::Bool(index == 0);
  if (name == "last") return Value::Bool(index + 1 == length);
  if (name == "length") return Value::Int(length);
  if (name == "depth") return Value::Int(loop.depth + 1);
  if (name == "depth0") return Value::Int(loop.depth);
  if (name == "previtem") return LoopItem(loop, loop.index - 1, name);
  if (name == "nextitem") return LoopItem(loop, loop.index + 1, name);
  return MethodOf(object, name);
}

Result<Value> SequenceItem(const Value& object, int64_t index, Heap& heap) {
  const Value missing = UndefinedWith("a " + std::string(object.TypeName()) +
                                      " has no item with the index " + std::to_string(index));
  if (object.Is(Kind::kSequence)) {
    const auto size = static_cast<int64_t>(object.items().size());
    if (index < 0) index += size;
    return index < 0 || index >= size ? missing : object.items()[static_cast<size_t>(index)];
  }
  const std::string& text = object.str();
  FT_RETURN_IF_ERROR(heap.Work(text.size()));
  if (index < 0) index += static_cast<int64_t>(CountCodePoints(text));
  if (index < 0) return missing;
  for (size_t at = 0; at < text.size(); at += Decode(text, at).size) {
    if (index-- == 0) return heap.String(text.substr(at, Decode(text, at).size));
  }
  return missing;
}

// The indices that a Python slice selects from `size` items.
struct SliceRange {
  int64_t start = 0;
  int64_t step = 1;
  size_t count = 0;
};

Result<int64_t> BoundOf(const Value& bound, int64_t otherwise, int64_t size, int64_t step) {
  if (bound.Is(Kind::kUndefined) || bound.Is(Kind::kNone)) return otherwise;
  if (!bound.IsIntegral()) {
    return Error{"expected an integer in a slice, found " + std::string(bound.TypeName())};
  }
  int64_t value = bound.AsInt();
  if (value < 0) value = value < -size ? -1 : value + size;
  return std::clamp<int64_t>(value, step < 0 ? -1 : 0, step < 0 ? size - 1 : size);
}

Result<SliceRange> RangeOf(const SliceBounds& bounds, int64_t size) {
  SliceRange range;
  if (bounds.step.IsIntegral()) {
    // Any stride beyond the size selects one item.
    range.step = std::clamp<int64_t>(bounds.step.AsInt(), -size - 1, size + 1);
    if (range.step == 0) return Error{"the step of a slice cannot be zero"};
  } else if (!bounds.step.Is(Kind::kUndefined) && !bounds.step.Is(Kind::kNone)) {
    return Error{"expected an integer in a slice, found " + std::string(bounds.step.TypeName())};
  }
  const bool back = range.step < 0;
  FT_ASSIGN_OR_RETURN(range.start, BoundOf(bounds.start, back ? size - 1 : 0, size, range.step));
  FT_ASSIGN_OR_RETURN(const int64_t stop, BoundOf(bounds.stop, back ? -1 : size, size, range.step));
  const int64_t span = back ? range.start - stop : stop - range.start;
  const int64_t stride = back ? -range.step : range.step;
  if (span > 0) range.count = static_cast<size_t>(DivideUp(span, stride));
  return range;
}

Result<Value> SliceString(const std::string& text, const SliceBounds& bounds, Heap& heap) {
  FT_RETURN_IF_ERROR(heap.Work(text.size() * sizeof(size_t)));
  const std::vector<size_t> offsets = CodePointOffsets(text);
  FT_ASSIGN_OR_RETURN(const SliceRange range,
                      RangeOf(bounds, static_cast<int64_t>(offsets.size()) - 1));
  std::string out;
  int64_t index = range.start;
  for (size_t i = 0; i < range.count; ++i, index += range.step) {
    const size_t start = offsets[static_cast<size_t>(index)];
    out.append(text, start, offsets[static_cast<size_t>(index) + 1] - start);
  }
  return heap.String(std::move(out));
}

}  // namespace

Result<Value> GetAttribute(const Value& object, std::string_view name, Heap& heap) {
  FT_RETURN_IF_ERROR(heap.Work());
  switch (object.kind()) {
    case Kind::kUndefined:
      return UndefinedError(object);
    case Kind::kNamespace: {
      const Namespace& made = *object.name_space();
      if (made.made_by == Global::kCycler && name == "current") return made.items[made.at];
      if (made.made_by != Global::kNamespace) return MethodOf(object, name);
      const auto& attributes = object.name_space()->attributes;
      const auto where = attributes.find(std::string(name));
      return where == attributes.end() ? NoAttribute(object, name) : where->second;
    }
    case Kind::kLoop:
      return LoopAttribute(object, name);
    case Kind::kCallable:
      if (object.callable().macro != nullptr && name == "name") {
        return heap.String(object.callable().name);
      }
      return MethodOf(object, name);
    case Kind::kSequence:
      if (object.sequence()->is_group && (name == "grouper" || name == "list")) {
        return object.items()[name == "grouper" ? 0 : 1];
      }
      return MethodOf(object, name);
    case Kind::kDict:
      if (!HasMethod(object, name)) {
        const Value* item = object.dict().Find(name);
        return item == nullptr ? NoAttribute(object, name) : *item;
      }
      return MethodOf(object, name);
    default:
      return MethodOf(object, name);
  }
}

Result<Value> GetItem(const Value& object, const Value& key, Heap& heap) {
  FT_RETURN_IF_ERROR(heap.Work());
  if (object.Is(Kind::kUndefined)) return UndefinedError(object);
  if (object.Is(Kind::kDict)) {
    if (const Value* item = object.dict().Find(key)) return *item;
  }
  if ((object.Is(Kind::kSequence) || object.IsString()) && key.IsIntegral()) {
    return SequenceItem(object, key.AsInt(), heap);
  }
  if (key.IsString()) return GetAttribute(object, key.str(), heap);
  FT_ASSIGN_OR_RETURN(const std::string text, ToRepr(key, heap));
  return NoAttribute(object, text);
}

Result<Value> GetSlice(const Value& object, const SliceBounds& bounds, Heap& heap) {
  if (object.Is(Kind::kUndefined)) return UndefinedError(object);
  if (object.IsString()) return SliceString(object.str(), bounds, heap);
  if (!object.Is(Kind::kSequence)) return NoAttribute(object, "slice");
  FT_ASSIGN_OR_RETURN(const SliceRange range,
                      RangeOf(bounds, static_cast<int64_t>(object.items().size())));
  FT_RETURN_IF_ERROR(heap.Reserve(range.count * sizeof(Value)));
  std::vector<Value> items;
  int64_t index = range.start;
  for (size_t i = 0; i < range.count; ++i, index += range.step) {
    items.push_back(object.items()[static_cast<size_t>(index)]);
  }
  return object.IsList() ? heap.List(std::move(items)) : heap.Tuple(std::move(items));
}

}  // namespace foretoken::jinja
