#include "jinja/heap.h"

#include <algorithm>
#include <limits>

#include "base/json.h"

namespace foretoken::jinja {
namespace {

// Bounds the recursion of everything that walks a value (repr, ==, tojson, destruction).
constexpr int kDeepestValue = 300;
constexpr size_t kObjectBytes = 64;
// Levels of evaluation; a level takes well under 4 KiB of stack, with sanitizers too.
constexpr int kMaxLevel = 800;

}  // namespace

Heap::~Heap() {
  for (const NamespacePtr& name_space : namespaces_) {
    name_space->attributes.clear();
    name_space->items.clear();
  }
}

Status Heap::Level::Check() const {
  if (heap_.level_ > kMaxLevel) return Error{"macros or filters call each other too deeply"};
  return {};
}

Status Heap::Work(size_t bytes) {
  work_ += 1 + bytes / 64;
  if (work_ > limits_.work) return Error{"the template does not finish within its limit of work"};
  return {};
}

Status Heap::Reserve(size_t bytes) {
  if (bytes > limits_.value_bytes) {
    return Error{"a value would be larger than " + std::to_string(limits_.value_bytes) + " bytes"};
  }
  allocated_ += bytes + kObjectBytes;
  if (allocated_ > limits_.allocated_bytes) {
    return Error{"the template's values would take more than " +
                 std::to_string(limits_.allocated_bytes) + " bytes"};
  }
  return Work(bytes);
}

Result<Value> Heap::String(std::string text) {
  FT_RETURN_IF_ERROR(Reserve(text.size()));
  return Value(std::make_shared<const std::string>(std::move(text)));
}

Result<Value> Heap::NewSequence(std::vector<Value> items, bool is_tuple, bool is_group) {
  FT_RETURN_IF_ERROR(Reserve(items.size() * sizeof(Value)));
  int depth = 1;
  for (const Value& item : items) depth = std::max(depth, item.Depth() + 1);
  if (depth > kDeepestValue) return Error{"lists are nested too deeply"};
  return Value(
      std::make_shared<const Sequence>(Sequence{std::move(items), is_tuple, is_group, depth}));
}

Result<Value> Heap::List(std::vector<Value> items) { return NewSequence(std::move(items), false); }
Result<Value> Heap::Tuple(std::vector<Value> items) { return NewSequence(std::move(items), true); }

Result<Value> Heap::Group(Value grouper, std::vector<Value> list) {
  FT_ASSIGN_OR_RETURN(Value items, List(std::move(list)));
  return NewSequence({std::move(grouper), std::move(items)}, true, true);
}

Result<Value> Heap::Mapping(Dict dict) {
  FT_RETURN_IF_ERROR(Reserve(dict.entries().size() * 3 * sizeof(Dict::Entry)));
  if (dict.depth() > kDeepestValue) return Error{"dicts are nested too deeply"};
  return Value(std::make_shared<const Dict>(std::move(dict)));
}

Result<NamespacePtr> Heap::NewNamespace() {
  FT_RETURN_IF_ERROR(Reserve(sizeof(Namespace)));
  namespaces_.push_back(std::make_shared<Namespace>());
  return namespaces_.back();
}

// The recursion is as deep as the JSON, which ParseJson bounds.
Result<Value> Heap::FromJson(const Json& json) {
  switch (json.type()) {
    case Json::value_t::null:
      return Value(None{});
    case Json::value_t::boolean:
      return Value::Bool(json.get<bool>());
    case Json::value_t::number_integer:
      return Value::Int(json.get<int64_t>());
    case Json::value_t::number_unsigned:
      if (json.get<uint64_t>() > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
        return Error{"the integer " + std::to_string(json.get<uint64_t>()) +
                     " needs more than 64 bits"};
      }
      return Value::Int(json.get<int64_t>());
    case Json::value_t::number_float:
      return Value::Float(json.get<double>());
    case Json::value_t::string:
      return String(json.get_ref<const std::string&>());
    case Json::value_t::array: {
      std::vector<Value> items;
      for (const Json& element : json) {
        FT_ASSIGN_OR_RETURN(Value item, FromJson(element));
        items.push_back(std::move(item));
      }
      return List(std::move(items));
    }
    case Json::value_t::object: {
      Dict dict;
      for (const auto& [name, element] : json.items()) {
        FT_ASSIGN_OR_RETURN(Value key, String(name));
        FT_ASSIGN_OR_RETURN(Value value, FromJson(element));
        dict.Set(std::move(key), std::move(value));
      }
      return Mapping(std::move(dict));
    }
    default:
      return Error{"a JSON value of binary type cannot be rendered"};
  }
}

}  // namespace foretoken::jinja
