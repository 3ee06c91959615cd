// The values of chat templates: Python's None, bool, int, float, str, list, tuple and dict, Jinja's
// undefined, and callables. All except Namespace are immutable, so they can be shared freely and
// cannot form cycles.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

namespace foretoken::jinja {

class Value;
class Dict;
struct Namespace;
struct LoopState;
struct Callable;

struct Undefined {
  std::shared_ptr<const std::string> hint;  // for error messages; may be null
};
struct None {};
struct Sequence;

using StringPtr = std::shared_ptr<const std::string>;
using SequencePtr = std::shared_ptr<const Sequence>;
using DictPtr = std::shared_ptr<const Dict>;
using NamespacePtr = std::shared_ptr<Namespace>;
using LoopPtr = std::shared_ptr<const LoopState>;
using CallablePtr = std::shared_ptr<const Callable>;

// Order matches the alternatives of Value's variant.
enum class Kind {
  kUndefined,
  kNone,
  kBool,
  kInt,
  kFloat,
  kString,
  kSequence,
  kDict,
  kNamespace,
  kLoop,
  kCallable
};

class Value {
 public:
  Value() : data_(Undefined{}) {}
  Value(Undefined undefined) : data_(std::move(undefined)) {}  // NOLINT
  Value(None none) : data_(none) {}                            // NOLINT
  static Value Bool(bool b) { return Value(Data(std::in_place_index<2>, b)); }
  static Value Int(int64_t i) { return Value(Data(std::in_place_index<3>, i)); }
  static Value Float(double d) { return Value(Data(std::in_place_index<4>, d)); }
  // Heap creates the strings and containers that templates build, and counts their memory.
  Value(StringPtr p) : data_(std::move(p)) {}     // NOLINT
  Value(SequencePtr p) : data_(std::move(p)) {}   // NOLINT
  Value(DictPtr p) : data_(std::move(p)) {}       // NOLINT
  Value(NamespacePtr p) : data_(std::move(p)) {}  // NOLINT
  Value(LoopPtr p) : data_(std::move(p)) {}       // NOLINT
  Value(CallablePtr p) : data_(std::move(p)) {}   // NOLINT

  Kind kind() const { return static_cast<Kind>(data_.index()); }
  bool Is(Kind kind) const { return this->kind() == kind; }
  bool IsString() const { return Is(Kind::kString); }
  bool IsList() const;
  bool IsTuple() const;
  bool IsNumber() const { return Is(Kind::kInt) || Is(Kind::kFloat) || Is(Kind::kBool); }
  bool IsIntegral() const { return Is(Kind::kInt) || Is(Kind::kBool); }

  // REQUIRES for each accessor: the value has the kind that it names.
  bool bool_value() const { return std::get<2>(data_); }
  const std::string& str() const { return *std::get<StringPtr>(data_); }
  const std::vector<Value>& items() const;  // list or tuple
  const SequencePtr& sequence() const { return std::get<SequencePtr>(data_); }
  const Dict& dict() const { return *std::get<DictPtr>(data_); }
  const NamespacePtr& name_space() const { return std::get<NamespacePtr>(data_); }
  const LoopState& loop() const { return *std::get<LoopPtr>(data_); }
  const Callable& callable() const { return *std::get<CallablePtr>(data_); }
  const Undefined& undefined() const { return std::get<Undefined>(data_); }
  // REQUIRES: IsIntegral(); a bool counts as 0 or 1.
  int64_t AsInt() const { return Is(Kind::kBool) ? bool_value() : std::get<3>(data_); }
  // REQUIRES: IsNumber().
  double AsDouble() const {
    return Is(Kind::kFloat) ? std::get<4>(data_) : static_cast<double>(AsInt());
  }

  bool Truthy() const;
  // Nesting depth of containers in this value. Heap bounds it so that recursion over values is
  // safe.
  int Depth() const;
  // Whether both are the same object, or equal scalars of one kind.
  bool SameObject(const Value& other) const;
  // Python's name of the type: "str", "list", "dict", ...
  std::string_view TypeName() const;

 private:
  using Data = std::variant<Undefined, None, bool, int64_t, double, StringPtr, SequencePtr, DictPtr,
                            NamespacePtr, LoopPtr, CallablePtr>;
  explicit Value(Data data) : data_(std::move(data)) {}

  Data data_;
};

struct Sequence {
  std::vector<Value> items;
  bool is_tuple = false;
  bool is_group = false;  // of groupby: a tuple (grouper, list) that also has these as attributes
  int depth = 1;
};

// A Python dict: unique hashable keys in order of insertion.
class Dict {
 public:
  using Entry = std::pair<Value, Value>;

  // Sets or replaces a value. Returns false if `key` is not hashable (a list or a dict).
  bool Set(Value key, Value value);
  // Returns the value, or null. Accepts any `key`, hashable or not.
  const Value* Find(const Value& key) const;
  const Value* Find(std::string_view key) const;
  const std::vector<Entry>& entries() const { return entries_; }
  int depth() const { return depth_; }

 private:
  std::vector<Entry> entries_;
  std::unordered_map<std::string, size_t> index_;  // by HashKey
  int depth_ = 1;
};

enum class Global { kRange, kDict, kNamespace, kCycler, kJoiner, kRaiseException, kStrftimeNow };

// The result of namespace(), cycler() or joiner(): the only mutable values.
struct Namespace {
  Global made_by = Global::kNamespace;
  std::unordered_map<std::string, Value> attributes;
  std::vector<Value> items;  // a cycler's items; a joiner's separator
  size_t at = 0;             // a cycler's position; the number of calls of a joiner
};

struct MacroNode;
struct Node;
struct Scope;

// State shared by the iterations of one loop.
struct LoopMemory {
  Value last;  // last argument of loop.changed()
};

// The variable `loop` inside a for.
struct LoopState {
  SequencePtr items;
  size_t index = 0;  // from 0
  int depth = 0;     // number of enclosing calls of a recursive loop
  std::shared_ptr<LoopMemory> memory;
  const Node* recursive = nullptr;  // the loop if it is callable; owned by the template
  std::shared_ptr<Scope> scope;     // scope around the loop if it is callable
};

// A macro with the scope it was defined in, a bound method such as "x".strip, or a global.
struct Callable {
  const MacroNode* macro = nullptr;  // owned by the template
  std::shared_ptr<Scope> scope;      // scope of a macro
  Value receiver;                    // object of a method
  std::string name;                  // name of a macro or method
  Global global = Global::kRange;
  bool is_global = false;
};

// The arguments of a call: f(a, b, c=d).
struct Arguments {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> named;
};

}  // namespace foretoken::jinja
