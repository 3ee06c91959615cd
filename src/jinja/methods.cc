#include "jinja/methods.h"

#include <algorithm>
#include <array>
#include <limits>

#include "jinja/arguments.h"
#include "jinja/operators.h"
#include "jinja/unicode.h"

namespace foretoken::jinja {
namespace {

constexpr std::array<std::string_view, 24> kStringMethods = {
    "strip",   "lstrip",     "rstrip",   "split",  "rsplit",       "splitlines",
    "replace", "startswith", "endswith", "upper",  "lower",        "title",
    "join",    "capitalize", "find",     "rfind",  "count",        "index",
    "isdigit", "isspace",    "isalpha",  "format", "removeprefix", "removesuffix"};
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

// The parts of `text` between separators or, without one, between runs of whitespace.
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
    static constexpr std::string_view kBreaks = "\n\r\v\f\x1c\x1d\x1e";
    std::string_view rest = text_;
    while (!rest.empty()) {
      const size_t end = std::min(rest.find_first_of(kBreaks), rest.size());
      size_t next = std::min(end + 1, rest.size());
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
    if (name == "rsplit" && limit >= 0) {
      return Error{"rsplit: expected a separator where maxsplit is given"};
    }
    return splitter.AtSpace(LimitOf(limit));
  }
  FT_ASSIGN_OR_RETURN(const std::string separator, bound.String(0));
  if (separator.empty()) return Error{std::string(name) + ": the separator is empty"};
  return name == "split" ? splitter.At(separator, LimitOf(limit))
                         : splitter.AtFromRight(separator, LimitOf(limit));
}

Result<Value> HasEdge(const std::string& text, std::string_view name, const Arguments& arguments) {
  FT_ASSIGN_OR_RETURN(const BoundArguments bound,
                      BoundArguments::Bind(name, arguments, {"prefix"}, 1));
  const auto matches = [&](const std::string& edge) {
    return name == "startswith" ? text.starts_with(edge) : text.ends_with(edge);
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
                      BoundArguments::Bind(name, arguments, {"sub"}, 1));
  FT_ASSIGN_OR_RETURN(const std::string part, bound.String(0));
  FT_RETURN_IF_ERROR(heap.Work(text.size()));
  const size_t at = name == "rfind" ? text.rfind(part) : text.find(part);
  if (at == std::string::npos) {
    if (name == "index") return Error{"index: the substring '" + part + "' is not found"};
    return Value::Int(-1);
  }
  return Value::Int(static_cast<int64_t>(CountCodePoints(std::string_view{text}.substr(0, at))));
}

Result<Value> Count(const std::string& text, const Arguments& arguments, Heap& heap) {
  FT_ASSIGN_OR_RETURN(const BoundArguments bound,
                      BoundArguments::Bind("count", arguments, {"sub"}, 1));
  FT_ASSIGN_OR_RETURN(const std::string part, bound.String(0));
  FT_RETURN_IF_ERROR(heap.Work(text.size()));
  if (part.empty()) return Value::Int(static_cast<int64_t>(CountCodePoints(text)) + 1);
  int64_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos;
       at = text.find(part, at + part.size())) {
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

// Whether `text` has characters and all of them are of the kind that `name` asks for.
Value IsAll(const std::string& text, std::string_view name) {
  for (size_t at = 0; at < text.size(); at += Decode(text, at).size) {
    const char32_t c = Decode(text, at).value;
    const bool fits = name == "isspace"   ? IsSpace(c)
                      : name == "isdigit" ? c >= '0' && c <= '9'
                                          : ToUpper(c) != c || ToLower(c) != c;
    if (!fits) return Value::Bool(false);
  }
  return Value::Bool(!text.empty());
}

// str.format with the fields {}, {0} and {name}.
Result<Value> Format(const std::string& text, const Arguments& arguments, Heap& heap) {
  std::string out;
  size_t automatic = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if ((c == '{' || c == '}') && at + 1 < text.size() && text[at + 1] == c) {
      out += text[++at];
    } else if (c == '{') {
      const size_t end = text.find('}', at);
      if (end == std::string::npos) return Error{"format: expected '}' to end a field"};
      const std::string field = text.substr(at + 1, end - at - 1);
      const bool is_index =
          field.size() < 9 && field.find_first_not_of("0123456789") == std::string::npos;
      const Value* value = nullptr;
      if (is_index) {
        const size_t i = field.empty() ? automatic++ : std::stoul(field);
        if (i < arguments.positional.size()) value = &arguments.positional[i];
      }
      for (const auto& [name, named] : arguments.named) {
        if (name == field) value = &named;
      }
      if (value == nullptr) return Error{"format: no argument for the field {" + field + "}"};
      FT_ASSIGN_OR_RETURN(const std::string shown, ToText(*value, heap));
      FT_RETURN_IF_ERROR(heap.Work(shown.size()));
      if (out.size() + shown.size() > heap.limits().value_bytes) {
        FT_RETURN_IF_ERROR(heap.Reserve(out.size() + shown.size()));
      }
      out += shown;
      at = end;
    } else {
      out += c;
    }
  }
  return heap.String(std::move(out));
}

Result<Value> StringMethod(const Value& receiver, std::string_view name, const Arguments& arguments,
                           Heap& heap) {
  const std::string& text = receiver.str();
  FT_RETURN_IF_ERROR(heap.Work(text.size()));
  if (name.ends_with("strip")) return Strip(text, name, arguments, heap);
  if (name.find("split") != std::string_view::npos) return Split(text, name, arguments, heap);
  if (name.ends_with("with")) return HasEdge(text, name, arguments);
  if (name.starts_with("remove")) return RemoveEdge(text, name, arguments, heap);
  if (name == "replace") return Replace(text, arguments, heap);
  if (name == "join") return Join(text, arguments, heap);
  if (name == "count") return Count(text, arguments, heap);
  if (name == "format") return Format(text, arguments, heap);
  if (name.ends_with("find") || name == "index") return Find(text, name, arguments, heap);
  FT_RETURN_IF_ERROR([&]() -> Status {
    FT_ASSIGN_OR_RETURN(const BoundArguments none, BoundArguments::Bind(name, arguments, {}));
    static_cast<void>(none);
    return {};
  }());
  if (name == "upper") return heap.String(Upper(text));
  if (name == "lower") return heap.String(Lower(text));
  if (name == "title") return heap.String(Title(text));
  if (name == "capitalize") return heap.String(Capitalize(text));
  return IsAll(text, name);
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
                      BoundArguments::Bind(name, arguments, {"item"}, 1));
  int64_t count = 0;
  for (size_t i = 0; i < receiver.items().size(); ++i) {
    FT_ASSIGN_OR_RETURN(const bool equal, Equal(receiver.items()[i], bound[0], heap));
    if (equal && name == "index") return Value::Int(static_cast<int64_t>(i));
    count += equal ? 1 : 0;
  }
  if (name == "index") return Error{"index: the list has no such item"};
  return Value::Int(count);
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
    // An empty `from` is found before every character and at the end.
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
      return Among(kStringMethods, name);
    case Kind::kDict:
      return Among(kDictMethods, name) || Among(kDictChanges, name);
    case Kind::kSequence:
      return Among(kListMethods, name);
    case Kind::kLoop:
      return name == "cycle";
    default:
      return false;
  }
}

Result<Value> CallMethod(const Value& receiver, std::string_view name, const Arguments& arguments,
                         Heap& heap) {
  if (receiver.IsString()) return StringMethod(receiver, name, arguments, heap);
  if (receiver.Is(Kind::kDict)) return DictMethod(receiver, name, arguments, heap);
  if (receiver.Is(Kind::kSequence)) return ListMethod(receiver, name, arguments, heap);
  if (arguments.positional.empty()) return Error{"loop.cycle: expected items, found none"};
  return arguments.positional[receiver.loop().index % arguments.positional.size()];
}

}  // namespace foretoken::jinja
