// Filters that format text, and filters that arrange items in rows or columns.
#include <algorithm>

#include "jinja/arguments.h"
#include "jinja/filters.h"
#include "jinja/format.h"
#include "jinja/methods.h"
#include "jinja/operators.h"
#include "jinja/unicode.h"

namespace foretoken::jinja {
namespace {

struct NamedLayoutFilter {
  std::string_view name;
  Result<Value> (*apply)(const Value&, const Arguments&, Heap&);
};

Result<Value> CenterFilter(const Value& value, const Arguments& arguments, Heap& heap) {
  FT_ASSIGN_OR_RETURN(const BoundArguments bound,
                      BoundArguments::Bind("center", arguments, {"width"}));
  FT_ASSIGN_OR_RETURN(const int64_t width, bound.Int(0, 80));
  FT_ASSIGN_OR_RETURN(const std::string text, ToText(value, heap));
  return Pad(text, width, " ", Side::kBoth, heap);
}

// Applies the operator % with the arguments as a tuple, or as a dict if they are named.
Result<Value> FormatFilter(const Value& value, const Arguments& arguments, Heap& heap) {
  FT_ASSIGN_OR_RETURN(const std::string text, ToText(value, heap));
  if (arguments.named.empty()) {
    FT_ASSIGN_OR_RETURN(const Value values, heap.Tuple(arguments.positional));
    return FormatPercent(text, values, heap);
  }
  if (!arguments.positional.empty()) {
    return Error{"format: expected positional or named arguments, found both"};
  }
  Dict dict;
  for (const auto& [name, argument] : arguments.named) {
    FT_ASSIGN_OR_RETURN(Value key, heap.String(name));
    dict.Set(std::move(key), argument);
  }
  FT_ASSIGN_OR_RETURN(const Value values, heap.Mapping(std::move(dict)));
  return FormatPercent(text, values, heap);
}

// Truncates a text of more than length + leeway characters to `length` characters, `end` included.
// Cuts at a blank unless words may be cut.
Result<Value> TruncateFilter(const Value& value, const Arguments& arguments, Heap& heap) {
  FT_ASSIGN_OR_RETURN(
      const BoundArguments bound,
      BoundArguments::Bind("truncate", arguments, {"length", "killwords", "end", "leeway"}));
  FT_ASSIGN_OR_RETURN(const int64_t length, bound.Int(0, 255));
  FT_ASSIGN_OR_RETURN(const std::string end, bound.String(2, "..."));
  int64_t leeway = 5;
  if (bound.HasValue(3)) {
    FT_ASSIGN_OR_RETURN(leeway, bound.Int(3));
  }
  const auto end_size = static_cast<int64_t>(CountCodePoints(end));
  if (length < end_size) {
    return Error{"truncate: expected a length of at least " + std::to_string(end_size)};
  }
  if (leeway < 0) return Error{"truncate: expected a leeway of 0 or more"};
  FT_ASSIGN_OR_RETURN(const std::string text, ToText(value, heap));
  const std::vector<size_t> offsets = CodePointOffsets(text);
  const auto size = static_cast<int64_t>(offsets.size()) - 1;
  if (size - leeway <= length) return heap.String(text);
  std::string kept = text.substr(0, offsets[static_cast<size_t>(length - end_size)]);
  if (const size_t blank = kept.rfind(' '); !bound.Truthy(1) && blank != std::string::npos) {
    kept.resize(blank);
  }
  return heap.String(kept + end);
}

// Splits items into lists of `size`; the last is padded if a fill value is given.
Result<Value> BatchFilter(const Value& value, const Arguments& arguments, Heap& heap) {
  FT_ASSIGN_OR_RETURN(const BoundArguments bound,
                      BoundArguments::Bind("batch", arguments, {"linecount", "fill_with"}, 1));
  FT_ASSIGN_OR_RETURN(const int64_t size, bound.Int(0));
  FT_ASSIGN_OR_RETURN(const std::vector<Value> items, Iterate(value, heap));
  std::vector<Value> batches, batch;
  const auto finish = [&]() -> Status {
    FT_ASSIGN_OR_RETURN(Value list, heap.List(std::exchange(batch, {})));
    batches.push_back(std::move(list));
    return {};
  };
  for (const Value& item : items) {
    if (std::ssize(batch) == size) FT_RETURN_IF_ERROR(finish());
    batch.push_back(item);
  }
  if (!batch.empty()) {
    if (bound.HasValue(1) && std::ssize(batch) < size) {
      FT_RETURN_IF_ERROR(heap.Reserve(
          static_cast<size_t>(std::min<int64_t>(size, int64_t{1} << 40)) * sizeof(Value)));
      batch.resize(static_cast<size_t>(size), bound[1]);
    }
    FT_RETURN_IF_ERROR(finish());
  }
  return heap.List(std::move(batches));
}

// Splits items into the given number of lists, whose lengths differ by at most one; shorter ones
// are padded if a fill value is given.
Result<Value> SliceFilter(const Value& value, const Arguments& arguments, Heap& heap) {
  FT_ASSIGN_OR_RETURN(const BoundArguments bound,
                      BoundArguments::Bind("slice", arguments, {"slices", "fill_with"}, 1));
  FT_ASSIGN_OR_RETURN(const int64_t slices, bound.Int(0));
  FT_ASSIGN_OR_RETURN(const std::vector<Value> items, Iterate(value, heap));
  if (slices == 0) return Error{"slice: expected a number of slices other than 0"};
  const int64_t most = std::max<int64_t>(0, slices);
  FT_RETURN_IF_ERROR(
      heap.Reserve(static_cast<size_t>(std::min<int64_t>(most, int64_t{1} << 40)) * sizeof(Value)));
  const auto size = std::ssize(items);
  const int64_t length = size / slices, longer = size % slices;
  std::vector<Value> lists;
  auto next = items.begin();
  for (int64_t n = 0; n < most; ++n) {
    const auto end = next + length + (n < longer ? 1 : 0);
    std::vector<Value> list(next, end);
    next = end;
    if (bound.HasValue(1) && n >= longer) list.push_back(bound[1]);
    FT_ASSIGN_OR_RETURN(Value made, heap.List(std::move(list)));
    lists.push_back(std::move(made));
  }
  return heap.List(std::move(lists));
}

constexpr NamedLayoutFilter kLayoutFilters[] = {
    {"center", CenterFilter}, {"format", FormatFilter}, {"truncate", TruncateFilter},
    {"batch", BatchFilter},   {"slice", SliceFilter},
};

}  // namespace

Result<Value> ApplyLayoutFilter(std::string_view name, const Value& value,
                                const Arguments& arguments, Heap& heap, bool& found) {
  for (const NamedLayoutFilter& filter : kLayoutFilters) {
    if (filter.name != name) continue;
    found = true;
    return filter.apply(value, arguments, heap);
  }
  return Value();
}

}  // namespace foretoken::jinja
