// Filters over the items of a value.
#include <algorithm>
#include <functional>
#include <optional>

#include "jinja/arguments.h"
#include "jinja/filters.h"
#include "jinja/operators.h"
#include "jinja/unicode.h"

namespace foretoken::jinja {
namespace {

using Filter = Result<Value> (*)(std::string_view, const Value&, const Arguments&, Heap&);
struct NamedFilter {
  std::string_view name;
  Filter apply;
};

// Evaluates item.a.b or item.0 for the attribute "a.b" or "0"; the item itself if there is no
// attribute.
Result<Value> AttributeOf(Value item, const Value& attribute, Heap& heap) {
  if (attribute.Is(Kind::kUndefined) || attribute.Is(Kind::kNone)) return item;
  if (!attribute.IsString()) return GetItem(item, attribute, heap);
  std::string_view path = attribute.str();
  while (true) {
    const size_t dot = path.find('.');
    const std::string part(path.substr(0, dot));
    const bool is_index = !part.empty() && part.size() < 10 &&
                          part.find_first_not_of("0123456789") == std::string::npos;
    Value key = Value::Int(is_index ? std::stoll(part) : 0);
    if (!is_index) {
      FT_ASSIGN_OR_RETURN(key, heap.String(part));
    }
    FT_ASSIGN_OR_RETURN(item, GetItem(item, key, heap));
    if (dot == std::string_view::npos) return item;
    path.remove_prefix(dot + 1);
  }
}

// Sorts values by keys that may not be comparable; the first error wins.
class Sorter {
 public:
  Sorter(bool case_sensitive, Heap& heap) : case_sensitive_(case_sensitive), heap_(heap) {}

  // The sort key of `value`.
  Value KeyOf(const Value& value) const {
    if (case_sensitive_ || !value.IsString()) return value;
    return Value(std::make_shared<const std::string>(Lower(value.str())));
  }

  bool Less(const Value& a, const Value& b) {
    if (error_) return false;
    const Result<int> order = Order(a, b, heap_);
    if (!order.ok()) error_ = order.error();
    return order.ok() && *order < 0;
  }

  Result<std::vector<Value>> Sort(const std::vector<Value>& items, const std::vector<Value>& keys,
                                  bool reverse) {
    std::vector<size_t> order(items.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return reverse ? Less(keys[b], keys[a]) : Less(keys[a], keys[b]);
    });
    if (error_) return *error_;
    std::vector<Value> sorted;
    sorted.reserve(order.size());
    for (const size_t i : order) sorted.push_back(items[i]);
    return sorted;
  }

  const std::optional<Error>& error() const { return error_; }

 private:
  bool case_sensitive_;
  Heap& heap_;
  std::optional<Error> error_;
};

Result<std::vector<Value>> KeysOf(const std::vector<Value>& items, const Value& attribute,
                                  const Sorter& sorter, Heap& heap) {
  std::vector<Value> keys;
  for (const Value& item : items) {
    FT_ASSIGN_OR_RETURN(const Value key, AttributeOf(item, attribute, heap));
    if (key.IsString()) FT_RETURN_IF_ERROR(heap.Reserve(key.str().size()));
    keys.push_back(sorter.KeyOf(key));
  }
  return keys;
}

// The keys of sort; for several attributes ("a,b"), the list of their keys.
Result<std::vector<Value>> SortKeys(const std::vector<Value>& items, const Value& attributes,
                                    const Sorter& sorter, Heap& heap) {
  if (!attributes.IsString() || attributes.str().find(',') == std::string::npos) {
    return KeysOf(items, attributes, sorter, heap);
  }
  std::vector<std::vector<Value>> parts(items.size());
  for (std::string_view rest = attributes.str(); !rest.empty();) {
    const size_t comma = std::min(rest.find(','), rest.size());
    FT_ASSIGN_OR_RETURN(const Value attribute, heap.String(std::string(rest.substr(0, comma))));
    FT_ASSIGN_OR_RETURN(const std::vector<Value> keys, KeysOf(items, attribute, sorter, heap));
    for (size_t i = 0; i < items.size(); ++i) parts[i].push_back(keys[i]);
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  std::vector<Value> lists;
  for (std::vector<Value>& part : parts) {
    FT_ASSIGN_OR_RETURN(Value list, heap.List(std::move(part)));
    lists.push_back(std::move(list));
  }
  return lists;
}

Result<Value> SortFilter(std::string_view name, const Value& value, const Arguments& arguments,
                         Heap& heap) {
  FT_ASSIGN_OR_RETURN(
      const BoundArguments bound,
      BoundArguments::Bind(name, arguments, {"reverse", "case_sensitive", "attribute"}));
  FT_ASSIGN_OR_RETURN(const std::vector<Value> items, Iterate(value, heap));
  Sorter sorter(bound.Truthy(1), heap);
  FT_ASSIGN_OR_RETURN(const std::vector<Value> keys, SortKeys(items, bound[2], sorter, heap));
  FT_ASSIGN_OR_RETURN(std::vector<Value> sorted, sorter.Sort(items, keys, bound.Truthy(0)));
  return heap.List(std::move(sorted));
}

Result<Value> DictSortFilter(std::string_view name, const Value& value, const Arguments& arguments,
                             Heap& heap) {
  FT_ASSIGN_OR_RETURN(const BoundArguments bound,
                      BoundArguments::Bind(name, arguments, {"case_sensitive", "by", "reverse"}));
  FT_ASSIGN_OR_RETURN(const std::string by, bound.String(1, "key"));
  if (by != "key" && by != "value") {
    return Error{"dictsort: expected \"key\" or \"value\" as 'by', found \"" + by + "\""};
  }
  if (!value.Is(Kind::kDict)) {
    return Error{"dictsort: expected a dict, found " + std::string(value.TypeName())};
  }
  Sorter sorter(bound.Truthy(0), heap);
  std::vector<Value> items;
  std::vector<Value> keys;
  for (const auto& [key, element] : value.dict().entries()) {
    FT_ASSIGN_OR_RETURN(Value pair, heap.Tuple({key, element}));
    items.push_back(std::move(pair));
    keys.push_back(sorter.KeyOf(by == "key" ? key : element));
  }
  FT_ASSIGN_OR_RETURN(std::vector<Value> sorted, sorter.Sort(items, keys, bound.Truthy(2)));
  return heap.List(std::move(sorted));
}

Result<Value> UniqueFilter(std::string_view name, const Value& value, const Arguments& arguments,
                           Heap& heap) {
  FT_ASSIGN_OR_RETURN(const BoundArguments bound,
                      BoundArguments::Bind(name, arguments, {"case_sensitive", "attribute"}));
  FT_ASSIGN_OR_RETURN(const std::vector<Value> items, Iterate(value, heap));
  const Sorter sorter(bound.Truthy(0), heap);
  FT_ASSIGN_OR_RETURN(const std::vector<Value> keys, KeysOf(items, bound[1], sorter, heap));
  Dict seen;
  std::vector<Value> unique;
  for (size_t i = 0; i < items.size(); ++i) {
    if (seen.Find(keys[i]) != nullptr) continue;
    if (!seen.Set(keys[i], Value())) {
      return Error{"unique: a value of type " + std::string(keys[i].TypeName()) +
                   " is not hashable"};
    }
    unique.push_back(items[i]);
  }
  return heap.List(std::move(unique));
}

// Groups of (key, items), in order of the keys.
Result<Value> GroupByFilter(std::string_view name, const Value& value, const Arguments& arguments,
                            Heap& heap) {
  FT_ASSIGN_OR_RETURN(
      const BoundArguments bound,
      BoundArguments::Bind(name, arguments, {"attribute", "default", "case_sensitive"}, 1));
  FT_ASSIGN_OR_RETURN(const std::vector<Value> items, Iterate(value, heap));
  Sorter sorter(bound.Truthy(2), heap);
  std::vector<Value> shown, keys, order;
  for (size_t i = 0; i < items.size(); ++i) {
    FT_ASSIGN_OR_RETURN(Value key, AttributeOf(items[i], bound[0], heap));
    if (key.Is(Kind::kUndefined) && bound.HasValue(1)) key = bound[1];
    keys.push_back(sorter.KeyOf(key));
    shown.push_back(std::move(key));
    order.push_back(Value::Int(static_cast<int64_t>(i)));
  }
  FT_ASSIGN_OR_RETURN(order, sorter.Sort(order, keys, /*reverse=*/false));
  std::vector<Value> groups;
  for (size_t i = 0; i < order.size();) {
    const auto first = static_cast<size_t>(order[i].AsInt());
    std::vector<Value> group;
    for (bool same = true; same && i < order.size();) {
      const auto at = static_cast<size_t>(order[i].AsInt());
      FT_ASSIGN_OR_RETURN(same, Equal(keys[at], keys[first], heap));
      if (same) group.push_back(items[at]), ++i;
    }
    FT_ASSIGN_OR_RETURN(Value made, heap.Group(shown[first], std::move(group)));
    groups.push_back(std::move(made));
  }
  return heap.List(std::move(groups));
}

Result<Value> ExtremeFilter(std::string_view name, const Value& value, const Arguments& arguments,
                            Heap& heap) {
  FT_ASSIGN_OR_RETURN(const BoundArguments bound,
                      BoundArguments::Bind(name, arguments, {"case_sensitive", "attribute"}));
  FT_ASSIGN_OR_RETURN(const std::vector<Value> items, Iterate(value, heap));
  if (items.empty()) return UndefinedWith("there is no item, the sequence was empty");
  Sorter sorter(bound.Truthy(0), heap);
  FT_ASSIGN_OR_RETURN(const std::vector<Value> keys, KeysOf(items, bound[1], sorter, heap));
  size_t best = 0;
  for (size_t i = 1; i < items.size(); ++i) {
    const bool better =
        name == "min" ? sorter.Less(keys[i], keys[best]) : sorter.Less(keys[best], keys[i]);
    if (better) best = i;
  }
  if (sorter.error()) return *sorter.error();
  return items[best];
}

Result<Value> SumFilter(std::string_view name, const Value& value, const Arguments& arguments,
                        Heap& heap) {
  FT_ASSIGN_OR_RETURN(const BoundArguments bound,
                      BoundArguments::Bind(name, arguments, {"attribute", "start"}));
  FT_ASSIGN_OR_RETURN(const std::vector<Value> items, Iterate(value, heap));
  Value total = bound.Has(1) ? bound[1] : Value::Int(0);
  for (const Value& item : items) {
    FT_ASSIGN_OR_RETURN(const Value part, AttributeOf(item, bound[0], heap));
    FT_ASSIGN_OR_RETURN(total, BinaryOperation("+", total, part, heap));
  }
  return total;
}

Result<Value> MapFilter(std::string_view name, const Value& value, const Arguments& arguments,
                        Heap& heap) {
  FT_ASSIGN_OR_RETURN(const std::vector<Value> items, Iterate(value, heap));
  std::vector<Value> out;
  if (arguments.positional.empty()) {
    FT_ASSIGN_OR_RETURN(const BoundArguments bound,
                        BoundArguments::Bind(name, arguments, {"attribute", "default"}, 1));
    for (const Value& item : items) {
      FT_ASSIGN_OR_RETURN(Value mapped, AttributeOf(item, bound[0], heap));
      const bool missing = mapped.Is(Kind::kUndefined) && bound.Has(1);
      if (missing) mapped = bound[1];
      out.push_back(std::move(mapped));
    }
    return heap.List(std::move(out));
  }
  if (!arguments.positional[0].IsString()) return Error{"map: expected the name of a filter"};
  Arguments rest = arguments;
  rest.positional.erase(rest.positional.begin());
  for (const Value& item : items) {
    FT_ASSIGN_OR_RETURN(Value mapped, ApplyFilter(arguments.positional[0].str(), item, rest, heap));
    out.push_back(std::move(mapped));
  }
  return heap.List(std::move(out));
}

// select, reject, selectattr and rejectattr.
Result<Value> SelectFilter(std::string_view name, const Value& value, const Arguments& arguments,
                           Heap& heap) {
  Arguments rest = arguments;
  Value attribute;
  if (name.ends_with("attr")) {
    if (rest.positional.empty()) return Error{std::string(name) + ": expected an attribute"};
    attribute = rest.positional[0];
    rest.positional.erase(rest.positional.begin());
  }
  std::string test;
  if (!rest.positional.empty()) {
    if (!rest.positional[0].IsString()) {
      return Error{std::string(name) + ": expected the name of a test"};
    }
    test = rest.positional[0].str();
    rest.positional.erase(rest.positional.begin());
  }
  FT_ASSIGN_OR_RETURN(const std::vector<Value> items, Iterate(value, heap));
  std::vector<Value> out;
  for (const Value& item : items) {
    FT_ASSIGN_OR_RETURN(const Value subject, AttributeOf(item, attribute, heap));
    bool passes = subject.Truthy();
    if (!test.empty()) {
      FT_ASSIGN_OR_RETURN(passes, ApplyTest(test, subject, rest, heap));
    }
    if (passes == name.starts_with("select")) out.push_back(item);
  }
  return heap.List(std::move(out));
}

Result<Value> LengthFilter(std::string_view, const Value& value, const Arguments&, Heap& heap) {
  FT_ASSIGN_OR_RETURN(const size_t length, Length(value, heap));
  return Value::Int(static_cast<int64_t>(length));
}

Result<Value> EndFilter(std::string_view name, const Value& value, const Arguments&, Heap& heap) {
  FT_ASSIGN_OR_RETURN(const std::vector<Value> items, Iterate(value, heap));
  if (items.empty()) {
    return UndefinedWith("there is no " + std::string(name) + " item, the sequence was empty");
  }
  return name == "first" ? items.front() : items.back();
}

Result<Value> ListFilter(std::string_view, const Value& value, const Arguments&, Heap& heap) {
  FT_ASSIGN_OR_RETURN(std::vector<Value> items, Iterate(value, heap));
  return heap.List(std::move(items));
}

Result<Value> ReverseFilter(std::string_view, const Value& value, const Arguments&, Heap& heap) {
  if (value.IsString()) return GetSlice(value, {.step = Value::Int(-1)}, heap);
  FT_ASSIGN_OR_RETURN(std::vector<Value> items, Iterate(value, heap));
  std::reverse(items.begin(), items.end());
  return heap.List(std::move(items));
}

Result<Value> ItemsFilter(std::string_view, const Value& value, const Arguments&, Heap& heap) {
  if (value.Is(Kind::kUndefined)) return heap.List({});
  if (!value.Is(Kind::kDict)) {
    return Error{"items: expected a dict, found " + std::string(value.TypeName())};
  }
  std::vector<Value> out;
  for (const auto& [key, element] : value.dict().entries()) {
    FT_ASSIGN_OR_RETURN(Value pair, heap.Tuple({key, element}));
    out.push_back(std::move(pair));
  }
  return heap.List(std::move(out));
}

Result<Value> AttributeFilter(std::string_view name, const Value& value, const Arguments& arguments,
                              Heap& heap) {
  FT_ASSIGN_OR_RETURN(const BoundArguments bound,
                      BoundArguments::Bind(name, arguments, {"name"}, 1));
  FT_ASSIGN_OR_RETURN(const std::string attribute, bound.String(0));
  if (value.Is(Kind::kDict)) return UndefinedWith("a dict has no attribute '" + attribute + "'");
  return GetAttribute(value, attribute, heap);
}

constexpr NamedFilter kFilters[] = {
    {"length", LengthFilter},     {"count", LengthFilter},    {"first", EndFilter},
    {"last", EndFilter},          {"list", ListFilter},       {"map", MapFilter},
    {"select", SelectFilter},     {"reject", SelectFilter},   {"selectattr", SelectFilter},
    {"rejectattr", SelectFilter}, {"items", ItemsFilter},     {"dictsort", DictSortFilter},
    {"sort", SortFilter},         {"reverse", ReverseFilter}, {"unique", UniqueFilter},
    {"min", ExtremeFilter},       {"max", ExtremeFilter},     {"sum", SumFilter},
    {"attr", AttributeFilter},    {"groupby", GroupByFilter},
};

}  // namespace

Result<Value> ApplySequenceFilter(std::string_view name, const Value& value,
                                  const Arguments& arguments, Heap& heap, bool& found) {
  for (const NamedFilter& filter : kFilters) {
    if (filter.name != name) continue;
    found = true;
    return filter.apply(name, value, arguments, heap);
  }
  return Value();
}

}  // namespace foretoken::jinja
