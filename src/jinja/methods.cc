#include "jinja/methods.h"

#include <algorithm>
#include <array>
#include <limits>

#include "jinja/arguments.h"
#include "jinja/format.h"
#include "jinja/operators.h"
#include "jinja/unicode.h"

namespace foretoken::jinja {
namespace {

constexpr std::array<std::string_view, 23> kStringMethods = {
    "strip",   "lstrip",     "rstrip",       "split",        "rsplit", "splitlines",
    "replace", "startswith", "endswith",     "upper",        "lower",  "title",
    "join",    "capitalize", "find",         "rfind",        "count",  "index",
    "rindex",  "format",     "removeprefix", "removesuffix", "encode"};
constexpr std::array<std::string_view, 5> kDictMethods = {"items", "keys", "values", "get", "copy"};
constexpr std::array<std::string_view, 6> kDictChanges = {"pop",        "update",  "clear",
                                                          "setdefault", "popitem", "fromkeys"};
constexpr std::array<std::string_view, 2> kListMethods = {"index", "count"};

template <size_t n>
bool Among(const std::array<std::string_view, n>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

size_t LimitOf(int64_t limit) {
  return limit < 0 ? std::numeric_limits<size_t>::max() : static_cast<size_t>(limit);
}

Result<Value> Strip(const std::string& text, std::string_view name, const Arguments& arguments,
                    Heap& heap) {
  FT_ASSIGN_OR_RETURN(const BoundArguments bound, BoundArguments::Bind(name, arguments, {"chars"}));
  const Side side = name == "strip" ? Side::kBoth : name == "lstrip" ? Side::kLeft : Side::kRight;
  if (!bound.HasValue(0)) return heap.String(std::string(StripSpace(text, side)));
  FT_ASSIGN_OR_RETURN(const std::string chars, bound.String(0));
  FT_RETURN_IF_ERROR(heap.Work(text.size() * (1 + chars.size())));
  return heap.String(std::string(StripChars(text, chars, side)));
}

// Splits text at separators or, without one, at runs of white space.
class Splitter {
 public:
  Splitter(std::string_view text, Heap& heap) : text_(text), heap_(heap) {}

  Result<Value> AtSpace(size_t limit) {
    std::string_view rest = StripSpace(text_, Side::kLeft);
    while (!rest.empty() && parts_.size() < limit) {
      size_t end = 0;
      while (end < rest.size() && !IsSpace(Decode(rest, end).value)) end += Decode(rest, end).size;
      FT_RETURN_IF_ERROR(Add(rest.substr(0, end)));
      rest = StripSpace(rest.substr(end), Side::kLeft);
    }
    if (!rest.empty()) FT_RETURN_IF_ERROR(Add(rest));
    return heap_.List(std::move(parts_));
  }

  Result<Value> AtSpaceFromRight(size_t limit) {
    std::string_view rest = StripSpace(text_, Side::kRight);
    while (!rest.empty() && parts_.size() < limit) {
      size_t start = 0;  // start of the last word
      for (size_t at = 0; at < rest.size(); at += Decode(rest, at).size) {
        if (IsSpace(Decode(rest, at).value)) start = at + Decode(rest, at).size;
      }
      FT_RETURN_IF_ERROR(heap_.Work(rest.size()));
      FT_RETURN_IF_ERROR(Add(rest.substr(start)));
      rest = StripSpace(rest.substr(0, start), Side::kRight);
    }
    if (!rest.empty()) FT_RETURN_IF_ERROR(Add(rest));
    std::reverse(parts_.begin(), parts_.end());
    return heap_.List(std::move(parts_));
  }

  Result<Value> At(const std::string& separator, size_t limit) {
    std::string_view rest = text_;
    while (parts_.size() < limit) {
      const size_t end = rest.find(separator);
      if (end == std::string_view::npos) break;
      FT_RETURN_IF_ERROR(Add(rest.substr(0, end)));
      rest.remove_prefix(end + separator.size());
    }
    FT_RETURN_IF_ERROR(Add(rest));
    return heap_.List(std::move(parts_));
  }

  Result<Value> AtFromRight(const std::string& separator, size_t limit) {
    std::string_view rest = text_;
    while (parts_.size() < limit) {
      const size_t start = rest.rfind(separator);
      if (start == std::string_view::npos) break;
      FT_RETURN_IF_ERROR(Add(rest.substr(start + separator.size())));
      rest = rest.substr(0, start);
    }
    FT_RETURN_IF_ERROR(Add(rest));
    std::reverse(parts_.begin(), parts_.end());
    return heap_.List(std::move(parts_));
  }

  Result<Value> AtLines(bool keep_ends) {
    const auto is_break = [](char32_t c) {
      return (c >= 0xA && c <= 0xD) || (c >= 0x1C && c <= 0x1E) || c == 0x85 || c == 0x2028 ||
             c == 0x2029;
    };
    std::string_view rest = text_;
    while (!rest.empty()) {
      size_t end = 0, next = 0;  // end of the line, without and with its line break
      while (next == end && end < rest.size()) {
        const CodePoint c = Decode(rest, end);
        next = end + c.size;
        if (!c.valid || !is_break(c.value)) end = next;
      }
      if (rest.substr(end).starts_with("\r\n")) next = end + 2;
      FT_RETURN_IF_ERROR(Add(rest.substr(0, keep_ends ? next : end)));
      rest.remove_prefix(next);
    }
    return heap_.List(std::move(parts_));
  }

 private:
  Status Add(std::string_view part) {
    FT_ASSIGN_OR_RETURN(Value value, heap_.String(std::string(part)));
    parts_.push_back(std::move(value));
    return {};
  }

  std::string_view text_;
  Heap& heap_;
  std::vector<Value> parts_;
};

Result<Value> Split(const std::string& text, std::string_view name, const Arguments& arguments,
                    Heap& heap) {
  FT_RETURN_IF_ERROR(heap.Work(text.size()));
  Splitter splitter(text, heap);
  if (name == "splitlines") {
    FT_ASSIGN_OR_RETURN(const BoundArguments bound,
                        BoundArguments::Bind(name, arguments, {"keepends"}));
    return splitter.AtLines(bound.Truthy(0));
  }
  FT_ASSIGN_OR_RETURN(const BoundArguments bound,
                      BoundArguments::Bind(name, arguments, {"sep", "maxsplit"}));
  FT_ASSIGN_OR_RETURN(const int64_t limit, bound.Int(1, -1));
  if (!bound.HasValue(0)) {
    if (name == "rsplit" && limit >= 0) return splitter.AtSpaceFromRight(LimitOf(limit));
    return splitter.AtSpace(LimitOf(limit));
  }
  FT_ASSIGN_OR_RETURN(const std::string separator, bound.String(0));
  if (separator.empty()) return Error{std::string(name) + ": the separator is empty"};
  return name == "split" ? splitter.At(separator, LimitOf(limit))
                         : splitter.AtFromRight(separator, LimitOf(limit));
}

// The part of `text` selected by the arguments `first` and `first` + 1, as in a slice.
struct Window {
  std::string_view text;
  int64_t begin = 0;    // characters before the window
  bool beyond = false;  // begins after the end of the text, where not even "" is found
};

Result<Window> WindowOf(const std::string& text, const BoundArguments& bound, size_t first) {
  if (!bound.HasValue(first) && !bound.HasValue(first + 1)) return Window{text};
  const std::vector<size_t> offsets = CodePointOffsets(text);
  const auto size = static_cast<int64_t>(offsets.size()) - 1;
  int64_t ends[2] = {0, size};
  for (size_t i = 0; i < 2; ++i) {
    if (!bound.HasValue(first + i)) continue;
    FT_ASSIGN_OR_RETURN(ends[i], bound.Int(first + i));
    if (ends[i] < 0) ends[i] = std::max<int64_t>(0, ends[i] + size);
  }
  Window window;
  window.beyond = ends[0] > size || ends[0] > ends[1];
  if (window.beyond) return window;
  window.begin = ends[0];
  const size_t from = offsets[static_cast<size_t>(ends[0])];
  const size_t to = offsets[static_cast<size_t>(std::min(ends[1], size))];
  window.text = std::string_view(text).substr(from, to - from);
  return window;
}

Result<Value> HasEdge(const std::string& text, std::string_view name, const Arguments& arguments) {
  FT_ASSIGN_OR_RETURN(const BoundArguments bound,
                      BoundArguments::Bind(name, arguments, {"prefix", "start", "end"}, 1));
  FT_ASSIGN_OR_RETURN(const Window window, WindowOf(text, bound, 1));
  const auto matches = [&](const std::string& edge) {
    if (window.beyond) return false;
    return name == "startswith" ? window.text.starts_with(edge) : window.text.ends_with(edge);
  };
  if (!bound[0].IsTuple()) {
    FT_ASSIGN_OR_RETURN(const std::string edge, bound.String(0));
    return Value::Bool(matches(edge));
  }
  const std::vector<Value>& edges = bound[0].items();
  return Value::Bool(std::any_of(edges.begin(), edges.end(), [&](const Value& edge) {
    return edge.IsString() && matches(edge.str());
  }));
}

Result<Value> RemoveEdge(const std::string& text, std::string_view name, const Arguments& arguments,
                         Heap& heap) {
  FT_ASSIGN_OR_RETURN(const BoundArguments bound,
                      BoundArguments::Bind(name, arguments, {"edge"}, 1));
  FT_ASSIGN_OR_RETURN(const std::string edge, bound.String(0));
  if (name == "removeprefix" && text.starts_with(edge))
    return heap.String(text.substr(edge.size()));
  if (name == "removesuffix" && text.ends_with(edge)) {
    return heap.String(text.substr(0, text.size() - edge.size()));
  }
  return heap.String(text);
}

Result<Value> Find(const std::string& text, std::string_view name, const Arguments& arguments,
                   Heap& heap) {
  FT_ASSIGN_OR_RETURN(const BoundArguments bound,
                      BoundArguments::Bind(name, arguments, {"sub", "start", "end"}, 1));
  FT_ASSIGN_OR_RETURN(const std::string part, bound.String(0));
  FT_RETURN_IF_ERROR(heap.Work(text.size()));
  FT_ASSIGN_OR_RETURN(const Window window, WindowOf(text, bound, 1));
  const size_t at = window.beyond           ? std::string_view::npos
                    : name.starts_with('r') ? window.text.rfind(part)
                                            : window.text.find(part);
  if (at == std::string_view::npos) {
    if (!name.ends_with("index")) return Value::Int(-1);
    return Error{std::string(name) + ": the substring '" + part + "' is not found"};
  }
  return Value::Int(window.begin +
                    static_cast<int64_t>(CountCodePoints(window.text.substr(0, at))));
}

Result<Value> Count(const std::string& text, const Arguments& arguments, Heap& heap) {
  FT_ASSIGN_OR_RETURN(const BoundArguments bound,
                      BoundArguments::Bind("count", arguments, {"sub", "start", "end"}, 1));
  FT_ASSIGN_OR_RETURN(const std::string part, bound.String(0));
  FT_RETURN_IF_ERROR(heap.Work(text.size()));
  FT_ASSIGN_OR_RETURN(const Window window, WindowOf(text, bound, 1));
  if (window.beyond) return Value::Int(0);
  if (part.empty()) return Value::Int(static_cast<int64_t>(CountCodePoints(window.text)) + 1);
  int64_t count = 0;
  for (size_t at = window.text.find(part); at != std::string_view::npos;
       at = window.text.find(part, at + part.size())) {
    ++count;
  }
  return Value::Int(count);
}

Result<Value> Replace(const std::string& text, const Arguments& arguments, Heap& heap) {
  FT_ASSIGN_OR_RETURN(const BoundArguments bound,
                      BoundArguments::Bind("replace", arguments, {"old", "new", "count"}, 2));
  FT_ASSIGN_OR_RETURN(const std::string from, bound.String(0));
  FT_ASSIGN_OR_RETURN(const std::string to, bound.String(1));
  FT_ASSIGN_OR_RETURN(const int64_t limit, bound.Int(2, -1));
  return ReplaceText(text, from, to, limit, heap);
}

Result<Value> Join(const std::string& separator, const Arguments& arguments, Heap& heap) {
  FT_ASSIGN_OR_RETURN(const BoundArguments bound,
                      BoundArguments::Bind("join", arguments, {"iterable"}, 1));
  FT_ASSIGN_OR_RETURN(const std::vector<Value> items, Iterate(bound[0], heap));
  std::string out;
  for (size_t i = 0; i < items.size(); ++i) {
    if (!items[i].IsString()) {
      return Error{"join: expected strings, found " + std::string(items[i].TypeName())};
    }
    FT_RETURN_IF_ERROR(heap.Work(items[i].str().size() + separator.size()));
    if (i > 0) out += separator;
    out += items[i].str();
    if (out.size() > heap.limits().value_bytes) FT_RETURN_IF_ERROR(heap.Reserve(out.size()));
  }
  return heap.String(std::move(out));
}

Result<Value> StringMethod(const Value& receiver, std::string_view name, const Arguments& arguments,
                           Heap& heap) {
  const std::string& text = receiver.str();
  FT_RETURN_IF_ERROR(heap.Work(text.size()));
  if (const StringMethodPtr method = FindLayoutMethod(name)) {
    return method(text, name, arguments, heap);
  }
  if (name.ends_with("strip")) return Strip(text, name, arguments, heap);
  if (name.find("split") != std::string_view::npos) return Split(text, name, arguments, heap);
  if (name.ends_with("with")) return HasEdge(text, name, arguments);
  if (name.starts_with("remove")) return RemoveEdge(text, name, arguments, heap);
  if (name == "replace") return Replace(text, arguments, heap);
  if (name == "join") return Join(text, arguments, heap);
  if (name == "count") return Count(text, arguments, heap);
  if (name == "format") return FormatFields(text, arguments, heap);
  if (name == "encode") return Error{"str.encode is not supported: templates have no bytes"};
  if (name.ends_with("find") || name.ends_with("index")) return Find(text, name, arguments, heap);
  FT_RETURN_IF_ERROR([&]() -> Status {
    FT_ASSIGN_OR_RETURN(const BoundArguments none, BoundArguments::Bind(name, arguments, {}));
    static_cast<void>(none);
    return {};
  }());
  if (name == "upper") return heap.String(Upper(text));
  if (name == "lower") return heap.String(Lower(text));
  if (name == "title") return heap.String(Title(text));
  return heap.String(Capitalize(text));
}

Result<Value> DictMethod(const Value& receiver, std::string_view name, const Arguments& arguments,
                         Heap& heap) {
  if (name == "get") {
    FT_ASSIGN_OR_RETURN(const BoundArguments bound,
                        BoundArguments::Bind(name, arguments, {"key", "default"}, 1));
    const Value* found = receiver.dict().Find(bound[0]);
    if (found != nullptr) return *found;
    return bound.Has(1) ? bound[1] : Value(None{});
  }
  if (name == "copy") return receiver;
  if (Among(kDictChanges, name)) {
    return Error{"the sandbox does not allow dict." + std::string(name) +
                 ", which changes the dict"};
  }
  std::vector<Value> out;
  for (const auto& [key, value] : receiver.dict().entries()) {
    if (name == "items") {
      FT_ASSIGN_OR_RETURN(Value pair, heap.Tuple({key, value}));
      out.push_back(std::move(pair));
    } else {
      out.push_back(name == "keys" ? key : value);
    }
  }
  return heap.List(std::move(out));
}

Result<Value> ListMethod(const Value& receiver, std::string_view name, const Arguments& arguments,
                         Heap& heap) {
  FT_ASSIGN_OR_RETURN(const BoundArguments bound,
                      BoundArguments::Bind(name, arguments, {"item", "start", "stop"}, 1));
  const auto size = static_cast<int64_t>(receiver.items().size());
  FT_ASSIGN_OR_RETURN(int64_t start, bound.Int(1, 0));
  FT_ASSIGN_OR_RETURN(int64_t stop, bound.Int(2, size));
  start = std::max<int64_t>(0, start < 0 ? start + size : start);
  stop = std::min(size, stop < 0 ? stop + size : stop);
  int64_t count = 0;
  for (size_t i = static_cast<size_t>(start); static_cast<int64_t>(i) < stop; ++i) {
    FT_ASSIGN_OR_RETURN(const bool equal, Equal(receiver.items()[i], bound[0], heap));
    if (equal && name == "index") return Value::Int(static_cast<int64_t>(i));
    count += equal ? 1 : 0;
  }
  if (name == "index") return Error{"index: the list has no such item"};
  return Value::Int(count);
}

// next() returns the current item and advances; reset() starts over.
Value CyclerMethod(Namespace& cycler, std::string_view name) {
  if (name == "reset") {
    cycler.at = 0;
    return None{};
  }
  const Value current = cycler.items[cycler.at];
  cycler.at = (cycler.at + 1) % cycler.items.size();
  return current;
}

// loop.changed(): whether the values differ from those of the last call in this loop.
Result<Value> LoopChanged(const LoopState& loop, const Arguments& arguments, Heap& heap) {
  FT_ASSIGN_OR_RETURN(const Value now, heap.Tuple(arguments.positional));
  if (loop.memory->last.Is(Kind::kSequence)) {
    FT_ASSIGN_OR_RETURN(const bool same, Equal(loop.memory->last, now, heap));
    if (same) return Value::Bool(false);
  }
  loop.memory->last = now;
  return Value::Bool(true);
}

}  // namespace

Result<Value> ReplaceText(const std::string& text, const std::string& from, const std::string& to,
                          int64_t limit, Heap& heap) {
  FT_RETURN_IF_ERROR(heap.Work(text.size()));
  const size_t most = LimitOf(limit);
  std::string out;
  size_t at = 0;
  for (size_t n = 0; n < most; ++n) {
    size_t found = text.find(from, at);
    if (found == std::string::npos) break;
    // An empty `from` matches before every character and at the end.
    if (from.empty() && n > 0) {
      if (at >= text.size()) break;
      found = at + Decode(text, at).size;
    }
    out.append(text, at, found - at);
    out += to;
    at = found + from.size();
    FT_RETURN_IF_ERROR(heap.Work(to.size()));
    if (out.size() > heap.limits().value_bytes) FT_RETURN_IF_ERROR(heap.Reserve(out.size()));
  }
  return heap.String(out + text.substr(at));
}

bool HasMethod(const Value& receiver, std::string_view name) {
  switch (receiver.kind()) {
    case Kind::kString:
      return Among(kStringMethods, name) || FindLayoutMethod(name) != nullptr;
    case Kind::kDict:
      return Among(kDictMethods, name) || Among(kDictChanges, name);
    case Kind::kSequence:
      return Among(kListMethods, name);
    case Kind::kLoop:
      return name == "cycle" || name == "changed";
    case Kind::kNamespace:
      return receiver.name_space()->made_by == Global::kCycler &&
             (name == "next" || name == "reset");
    default:
      return false;
  }
}

Result<Value> CallMethod(const Value& receiver, std::string_view name, const Arguments& arguments,
                         Heap& heap) {
  if (receiver.IsString()) return StringMethod(receiver, name, arguments, heap);
  if (receiver.Is(Kind::kDict)) return DictMethod(receiver, name, arguments, heap);
  if (receiver.Is(Kind::kSequence)) return ListMethod(receiver, name, arguments, heap);
  if (receiver.Is(Kind::kNamespace)) return CyclerMethod(*receiver.name_space(), name);
  if (name == "changed") return LoopChanged(receiver.loop(), arguments, heap);
  if (arguments.positional.empty()) return Error{"loop.cycle: expected items, found none"};
  return arguments.positional[receiver.loop().index % arguments.positional.size()];
}

}  // namespace foretoken::jinja
