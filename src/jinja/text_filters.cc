// Filters whose result is text, and the choice among all filters.
#include <algorithm>

#include "jinja/arguments.h"
#include "jinja/filters.h"
#include "jinja/methods.h"
#include "jinja/operators.h"
#include "jinja/unicode.h"

namespace foretoken::jinja {
namespace {

using TextFilter = Result<Value> (*)(const Value&, const Arguments&, Heap&);
struct NamedTextFilter {
  std::string_view name;
  TextFilter apply;
};

Result<Value> ToJsonFilter(const Value& value, const Arguments& arguments, Heap& heap) {
  FT_ASSIGN_OR_RETURN(const BoundArguments bound,
                      BoundArguments::Bind("tojson", arguments,
                                           {"ensure_ascii", "indent", "separators", "sort_keys"}));
  JsonStyle style;
  style.ascii = bound.Truthy(0);
  style.sort_keys = bound.Truthy(3);
  if (bound.HasValue(1)) {
    style.pretty = true;
    style.item_separator.assign(1, ',');
    if (bound[1].IsString()) {
      style.indent = bound[1].str();
    } else {
      FT_ASSIGN_OR_RETURN(const int64_t width, bound.Int(1));
      FT_RETURN_IF_ERROR(heap.Reserve(static_cast<size_t>(std::max<int64_t>(width, 0))));
      style.indent.assign(static_cast<size_t>(std::max<int64_t>(width, 0)), ' ');
    }
  }
  if (bound.HasValue(2)) {
    const Value& pair = bound[2];
    if (!pair.Is(Kind::kSequence) || pair.items().size() != 2 || !pair.items()[0].IsString() ||
        !pair.items()[1].IsString()) {
      return Error{"tojson: expected two strings as 'separators'"};
    }
    style.item_separator = pair.items()[0].str();
    style.key_separator = pair.items()[1].str();
  }
  FT_ASSIGN_OR_RETURN(std::string json, ToJson(value, style, heap));
  return heap.String(std::move(json));
}

Result<Value> TrimFilter(const Value& value, const Arguments& arguments, Heap& heap) {
  FT_ASSIGN_OR_RETURN(const BoundArguments bound,
                      BoundArguments::Bind("trim", arguments, {"chars"}));
  FT_ASSIGN_OR_RETURN(const std::string text, ToText(value, heap));
  if (!bound.HasValue(0)) return heap.String(std::string(StripSpace(text, Side::kBoth)));
  FT_ASSIGN_OR_RETURN(const std::string chars, bound.String(0));
  FT_RETURN_IF_ERROR(heap.Work(text.size() * (1 + chars.size())));
  return heap.String(std::string(StripChars(text, chars, Side::kBoth)));
}

// A filter that maps the text of its value and takes no arguments.
template <std::string (*map)(std::string_view)>
Result<Value> MapText(const Value& value, const Arguments& arguments, Heap& heap) {
  FT_ASSIGN_OR_RETURN(const BoundArguments bound, BoundArguments::Bind("filter", arguments, {}));
  static_cast<void>(bound);
  FT_ASSIGN_OR_RETURN(const std::string text, ToText(value, heap));
  FT_RETURN_IF_ERROR(heap.Reserve(text.size()));
  return heap.String(map(text));
}

std::string Same(std::string_view text) { return std::string(text); }

// Words begin after blanks, '-' and opening brackets; an apostrophe begins none.
std::string TitleWords(std::string_view text) {
  static constexpr std::string_view kBreaks = "-({[<";
  std::string out;
  while (!text.empty()) {
    const auto is_break = [&](size_t at) {
      return kBreaks.find(text[at]) != std::string_view::npos || IsSpace(Decode(text, at).value);
    };
    const bool breaks = is_break(0);
    size_t end = 0;
    while (end < text.size() && is_break(end) == breaks) end += Decode(text, end).size;
    out += Capitalize(text.substr(0, end));
    text.remove_prefix(end);
  }
  return out;
}

std::string EscapeHtml(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '\'':
        out += "&#39;";
        break;
      case '"':
        out += "&#34;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

Result<Value> ReplaceFilter(const Value& value, const Arguments& arguments, Heap& heap) {
  FT_ASSIGN_OR_RETURN(const BoundArguments bound,
                      BoundArguments::Bind("replace", arguments, {"old", "new", "count"}, 2));
  FT_ASSIGN_OR_RETURN(const std::string text, ToText(value, heap));
  FT_ASSIGN_OR_RETURN(const std::string from, ToText(bound[0], heap));
  FT_ASSIGN_OR_RETURN(const std::string to, ToText(bound[1], heap));
  int64_t limit = -1;
  if (bound.HasValue(2)) {
    FT_ASSIGN_OR_RETURN(limit, bound.Int(2));
  }
  return ReplaceText(text, from, to, limit, heap);
}

Result<Value> IndentFilter(const Value& value, const Arguments& arguments, Heap& heap) {
  FT_ASSIGN_OR_RETURN(const BoundArguments bound,
                      BoundArguments::Bind("indent", arguments, {"width", "first", "blank"}));
  if (!value.IsString()) {
    return Error{"indent: expected a string, found " + std::string(value.TypeName())};
  }
  std::string indent = "    ";
  if (bound[0].IsString()) {
    indent = bound[0].str();
  } else if (bound.Has(0)) {
    FT_ASSIGN_OR_RETURN(const int64_t width, bound.Int(0));
    FT_RETURN_IF_ERROR(heap.Reserve(static_cast<size_t>(std::max<int64_t>(width, 0))));
    indent.assign(static_cast<size_t>(std::max<int64_t>(width, 0)), ' ');
  }
  FT_ASSIGN_OR_RETURN(const Value text, heap.String(value.str() + "\n"));
  FT_ASSIGN_OR_RETURN(const Value lines, CallMethod(text, "splitlines", {}, heap));
  std::string out;
  bool is_first = true;
  for (const Value& line : lines.items()) {
    if (!is_first) out += '\n';
    const bool indented = is_first ? bound.Truthy(1) : !line.str().empty() || bound.Truthy(2);
    if (indented) out += indent;
    out += line.str();
    is_first = false;
    FT_RETURN_IF_ERROR(heap.Work(indent.size() + line.str().size()));
    if (out.size() > heap.limits().value_bytes) FT_RETURN_IF_ERROR(heap.Reserve(out.size()));
  }
  return heap.String(std::move(out));
}

Result<Value> JoinFilter(const Value& value, const Arguments& arguments, Heap& heap) {
  FT_ASSIGN_OR_RETURN(const BoundArguments bound,
                      BoundArguments::Bind("join", arguments, {"d", "attribute"}));
  FT_ASSIGN_OR_RETURN(const std::string separator, ToText(bound[0], heap));
  FT_ASSIGN_OR_RETURN(const std::vector<Value> items, Iterate(value, heap));
  std::string out;
  for (size_t i = 0; i < items.size(); ++i) {
    Value item = items[i];
    if (bound.HasValue(1)) {
      FT_ASSIGN_OR_RETURN(item, GetItem(item, bound[1], heap));
    }
    FT_ASSIGN_OR_RETURN(const std::string text, ToText(item, heap));
    FT_RETURN_IF_ERROR(heap.Work(separator.size() + text.size()));
    if (i > 0) out += separator;
    out += text;
    if (out.size() > heap.limits().value_bytes) FT_RETURN_IF_ERROR(heap.Reserve(out.size()));
  }
  return heap.String(std::move(out));
}

Result<Value> DefaultFilter(const Value& value, const Arguments& arguments, Heap& heap) {
  FT_ASSIGN_OR_RETURN(const BoundArguments bound,
                      BoundArguments::Bind("default", arguments, {"default_value", "boolean"}));
  const bool missing = value.Is(Kind::kUndefined) || (bound.Truthy(1) && !value.Truthy());
  if (!missing) return value;
  return bound.Has(0) ? Result<Value>(bound[0]) : heap.String("");
}

constexpr NamedTextFilter kTextFilters[] = {
    {"tojson", ToJsonFilter},
    {"trim", TrimFilter},
    {"upper", MapText<Upper>},
    {"lower", MapText<Lower>},
    {"title", MapText<TitleWords>},
    {"capitalize", MapText<Capitalize>},
    {"string", MapText<Same>},
    {"safe", MapText<Same>},
    {"escape", MapText<EscapeHtml>},
    {"e", MapText<EscapeHtml>},
    {"replace", ReplaceFilter},
    {"indent", IndentFilter},
    {"forceescape", MapText<EscapeHtml>},
    {"join", JoinFilter},
    {"default", DefaultFilter},
    {"d", DefaultFilter},
};

constexpr Result<Value> (*kFilterGroups[])(std::string_view, const Value&, const Arguments&, Heap&,
                                           bool&) = {ApplyTextFilter, ApplyLayoutFilter,
                                                     ApplySequenceFilter, ApplyNumberFilter};

// Jinja's own filters that are left out.
constexpr std::string_view kUnsupported[] = {"filesizeformat", "pprint",    "random",
                                             "striptags",      "urlencode", "urlize",
                                             "wordcount",      "wordwrap",  "xmlattr"};

}  // namespace

// Calls every group without arguments: a group that knows the name sets `found`, even if it returns
// an error.
bool IsFilter(std::string_view name) {
  Heap heap{Limits{}};
  bool found = false;
  for (const auto apply : kFilterGroups) {
    const Result<Value> tried = apply(name, Value(), {}, heap, found);
    if (found) return true;
  }
  return std::ranges::find(kUnsupported, name) != std::end(kUnsupported);
}

Result<Value> ApplyTextFilter(std::string_view name, const Value& value, const Arguments& arguments,
                              Heap& heap, bool& found) {
  for (const NamedTextFilter& filter : kTextFilters) {
    if (filter.name != name) continue;
    found = true;
    return filter.apply(value, arguments, heap);
  }
  return Value();
}

Result<Value> ApplyFilter(std::string_view name, const Value& value, const Arguments& arguments,
                          Heap& heap) {
  const Heap::Level level(heap);
  FT_RETURN_IF_ERROR(level.Check());
  FT_RETURN_IF_ERROR(heap.Work(value.IsString() ? value.str().size() : 0));
  bool found = false;
  for (const auto apply : kFilterGroups) {
    Result<Value> result = apply(name, value, arguments, heap, found);
    if (found) return result;
  }
  if (std::ranges::find(kUnsupported, name) != std::end(kUnsupported)) {
    return Error{"the filter '" + std::string(name) + "' is not supported"};
  }
  return Error{"there is no filter named '" + std::string(name) + "'"};
}

}  // namespace foretoken::jinja
