// Allocation of a template's values, with limits on work, memory and recursion, so that a hostile
// template ends with an error.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json_fwd.h"
#include "base/result.h"
#include "jinja/value.h"

namespace foretoken::jinja {

struct Limits {
  size_t work = 50'000'000;                  // evaluated nodes and 64-byte steps of bulk work
  size_t value_bytes = size_t{64} << 20;     // of one string or list, and of the output
  size_t allocated_bytes = size_t{1} << 30;  // total of all values, freed ones included
};

// The allocator and the resource counters of one rendering. Not thread-safe.
class Heap {
 public:
  explicit Heap(const Limits& limits) : limits_(limits) {}

  // Adds the work of touching `bytes` bytes. Error: the limit of work is exceeded.
  Status Work(size_t bytes = 0);
  // Must be called before building a value of `bytes` bytes. Error: too large.
  Status Reserve(size_t bytes);
  const Limits& limits() const { return limits_; }

  // Counts one level of recursion during its lifetime.
  class Level {
   public:
    explicit Level(Heap& heap) : heap_(heap) { ++heap_.level_; }
    ~Level() { --heap_.level_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;
    // Error: the recursion is too deep.
    Status Check() const;

   private:
    Heap& heap_;
  };

  Result<Value> String(std::string text);
  Result<Value> List(std::vector<Value> items);
  Result<Value> Tuple(std::vector<Value> items);
  // A tuple (grouper, list) of groupby.
  Result<Value> Group(Value grouper, std::vector<Value> list);
  Result<Value> Mapping(Dict dict);
  // Creates a namespace that lives as long as the heap.
  Result<NamespacePtr> NewNamespace();
  // Errors: nested too deeply, an integer beyond 64 bits.
  Result<Value> FromJson(const Json& json);

  ~Heap();
  Heap(const Heap&) = delete;
  Heap& operator=(const Heap&) = delete;

 private:
  Result<Value> NewSequence(std::vector<Value> items, bool is_tuple, bool is_group = false);

  Limits limits_;
  size_t work_ = 0;
  int level_ = 0;
  size_t allocated_ = 0;
  // Kept until the destructor and cleared one by one there, since namespaces may refer to each
  // other in cycles.
  std::vector<NamespacePtr> namespaces_;
};

// Python's str() of a value; "" for undefined. Errors: longer than the heap allows.
Result<std::string> ToText(const Value& value, Heap& heap);
// Python's repr().
Result<std::string> ToRepr(const Value& value, Heap& heap);

struct JsonStyle {
  std::string indent;  // one level
  bool pretty = false;
  bool ascii = false;
  bool sort_keys = false;
  std::string item_separator = ", ";
  std::string key_separator = ": ";
};
// Python's json.dumps. Errors: a value that JSON cannot represent, a result longer than the heap
// allows.
Result<std::string> ToJson(const Value& value, const JsonStyle& style, Heap& heap);

}  // namespace foretoken::jinja
