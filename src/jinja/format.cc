#include "jinja/format.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <utility>

#include "jinja/format_spec.h"
#include "jinja/operators.h"

namespace foretoken::jinja {
namespace {

constexpr int kMostNesting = 2;  // nesting of fields inside format specifications, as in Python

// Appends `text` to `out`. Errors: the result exceeds the heap's limit for one value.
Status AppendTo(std::string& out, std::string_view text, Heap& heap) {
  FT_RETURN_IF_ERROR(heap.Work(text.size()));
  if (out.size() + text.size() > heap.limits().value_bytes) {
    FT_RETURN_IF_ERROR(heap.Reserve(out.size() + text.size()));
  }
  out += text;
  return {};
}

bool IsIndex(std::string_view text) {
  return !text.empty() && text.size() < 10 &&
         std::ranges::all_of(text, [](unsigned char c) { return std::isdigit(c) != 0; });
}

class FieldFormatter {
 public:
  FieldFormatter(const Arguments& arguments, Heap& heap) : arguments_(arguments), heap_(heap) {}

  Result<std::string> Format(std::string_view text, int nesting) {
    if (nesting < 0 && !text.empty()) return Error{"format: fields are nested too deeply"};
    std::string out;
    while (!text.empty()) {
      const size_t brace = std::min(text.find_first_of("{}"), text.size());
      FT_RETURN_IF_ERROR(AppendTo(out, text.substr(0, brace), heap_));
      text.remove_prefix(brace);
      if (text.empty()) break;
      if (text.size() > 1 && text[1] == text[0]) {
        out += text[0];
        text.remove_prefix(2);
        continue;
      }
      if (text[0] == '}') return Error{"format: a single '}' stands outside of a field"};
      FT_ASSIGN_OR_RETURN(const std::string_view field, TakeField(text));
      FT_ASSIGN_OR_RETURN(const std::string shown, FormatField(field, nesting));
      FT_RETURN_IF_ERROR(AppendTo(out, shown, heap_));
    }
    return out;
  }

 private:
  // Removes the field at the front of `text` and returns it without its braces.
  static Result<std::string_view> TakeField(std::string_view& text) {
    int open = 0;
    for (size_t i = 0; i < text.size(); ++i) {
      open += text[i] == '{' ? 1 : text[i] == '}' ? -1 : 0;
      if (open > 0) continue;
      const std::string_view field = text.substr(1, i - 1);
      text.remove_prefix(i + 1);
      return field;
    }
    return Error{"format: expected '}' to end a field"};
  }

  // Formats a field: "name!conversion:specification".
  Result<std::string> FormatField(std::string_view field, int nesting) {
    size_t end = 0;
    for (bool in_item = false; end < field.size(); ++end) {
      in_item = field[end] == '[' || (in_item && field[end] != ']');
      if (!in_item && (field[end] == '!' || field[end] == ':')) break;
    }
    FT_ASSIGN_OR_RETURN(Value value, Lookup(field.substr(0, end)));
    field.remove_prefix(end);
    if (field.starts_with('!')) {
      const char conversion = field.size() > 1 ? field[1] : ' ';
      if (std::string_view("sra").find(conversion) == std::string_view::npos) {
        return Error{"format: expected !s, !r or !a as the conversion of a field"};
      }
      FT_ASSIGN_OR_RETURN(std::string text,
                          conversion == 's' ? ToText(value, heap_) : ToRepr(value, heap_));
      FT_ASSIGN_OR_RETURN(value, heap_.String(std::move(text)));
      field.remove_prefix(2);
      if (!field.empty() && field[0] != ':') return Error{"format: expected ':' after !s or !r"};
    }
    if (!field.empty()) field.remove_prefix(1);
    FT_ASSIGN_OR_RETURN(const std::string spec, Format(field, nesting - 1));
    return FormatValue(value, spec, heap_);
  }

  // Looks up the value of a path: "first.attribute[item]...".
  Result<Value> Lookup(std::string_view path) {
    size_t end = std::min(path.find_first_of(".["), path.size());
    FT_ASSIGN_OR_RETURN(Value value, Argument(path.substr(0, end)));
    path.remove_prefix(end);
    while (!path.empty()) {
      const bool is_item = path[0] == '[';
      path.remove_prefix(1);
      end = path.find_first_of(is_item ? "]" : ".[");
      if (is_item && end == std::string_view::npos) return Error{"format: expected ']' in a field"};
      end = std::min(end, path.size());
      const std::string key(path.substr(0, end));
      if (is_item && IsIndex(key)) {
        FT_ASSIGN_OR_RETURN(value, GetItem(value, Value::Int(std::stoll(key)), heap_));
      } else if (is_item) {
        FT_ASSIGN_OR_RETURN(const Value name, heap_.String(key));
        FT_ASSIGN_OR_RETURN(value, GetItem(value, name, heap_));
      } else {
        FT_ASSIGN_OR_RETURN(value, GetAttribute(value, key, heap_));
      }
      path.remove_prefix(std::min(end + (is_item ? 1 : 0), path.size()));
      if (!path.empty() && path[0] != '.' && path[0] != '[') {
        return Error{"format: expected '.' or '[' after ']' in a field"};
      }
    }
    return value;
  }

  Result<Value> Argument(std::string_view name) {
    if (name.empty() || IsIndex(name)) {
      numbering_ |= name.empty() ? 1 : 2;
      if (numbering_ == 3) return Error{"format: some fields are numbered and some are not"};
      const size_t i = name.empty() ? automatic_++ : std::stoul(std::string(name));
      if (i < arguments_.positional.size()) return arguments_.positional[i];
    }
    for (const auto& [given, value] : arguments_.named) {
      if (given == name) return value;
    }
    return Error{"format: no argument for the field {" + std::string(name) + "}"};
  }

  const Arguments& arguments_;
  Heap& heap_;
  size_t automatic_ = 0;
  int numbering_ = 0;  // 1: automatic, 2: manual
};

// Evaluates text % values, whose fields are "%[(name)][flags][width][.precision]type".
class PercentFormatter {
 public:
  PercentFormatter(const Value& values, Heap& heap) : values_(values), heap_(heap) {}

  Result<std::string> Format(std::string_view text) {
    std::string out;
    while (!text.empty()) {
      const size_t percent = std::min(text.find('%'), text.size());
      FT_RETURN_IF_ERROR(AppendTo(out, text.substr(0, percent), heap_));
      text.remove_prefix(percent);
      if (text.empty()) break;
      text.remove_prefix(1);
      FT_ASSIGN_OR_RETURN(const std::string shown, FormatOne(text));
      FT_RETURN_IF_ERROR(AppendTo(out, shown, heap_));
    }
    const size_t given = values_.IsTuple() ? values_.items().size() : 1;
    const bool may_be_left = !values_.IsTuple() && (values_.Is(Kind::kDict) || values_.IsList());
    if (taken_ < given && !may_be_left) return Error{"%: not all values were used by the text"};
    return out;
  }

 private:
  Result<std::string> FormatOne(std::string_view& text) {
    Value value;
    bool has_value = false;
    if (text.starts_with('(')) {
      const size_t end = text.find(')');
      if (end == std::string_view::npos || !values_.Is(Kind::kDict)) {
        return Error{"%: expected a dict for a field with a name"};
      }
      const std::string name(text.substr(1, end - 1));
      const Value* found = values_.dict().Find(std::string_view(name));
      if (found == nullptr) return Error{"%: the dict has no key '" + name + "'"};
      value = *found;
      has_value = true;
      text.remove_prefix(end + 1);
    }
    FormatSpec spec;
    TakeFlags(text, spec);
    FT_RETURN_IF_ERROR(TakeWidth(text, spec));
    while (!text.empty() && std::string_view("hlL").find(text[0]) != std::string_view::npos) {
      text.remove_prefix(1);
    }
    if (text.empty()) return Error{"%: the text ends inside a field"};
    spec.type = text[0];
    text.remove_prefix(1);
    if (spec.type == '%') return std::string("%");
    if (!has_value) {
      FT_ASSIGN_OR_RETURN(value, NextValue());
    }
    return FormatAs(value, spec);
  }

  static void TakeFlags(std::string_view& text, FormatSpec& spec) {
    bool left = false, zero = false;
    for (; !text.empty(); text.remove_prefix(1)) {
      if (text[0] == '-') {
        left = true;
      } else if (text[0] == '0') {
        zero = true;
      } else if (text[0] == '+' || (text[0] == ' ' && spec.sign != '+')) {
        spec.sign = text[0];
      } else if (text[0] == '#') {
        spec.alternate = true;
      } else if (text[0] != ' ') {
        break;
      }
    }
    spec.align = left ? '<' : zero ? '0' : '>';
    if (zero && !left) spec.fill = "0";
  }

  Status TakeWidth(std::string_view& text, FormatSpec& spec) {
    FT_ASSIGN_OR_RETURN(spec.width, TakeCount(text, 0));
    if (spec.width < 0) {
      spec.align = '<';
      spec.fill = " ";
      spec.width = -spec.width;
    }
    if (!text.starts_with('.')) return {};
    text.remove_prefix(1);
    FT_ASSIGN_OR_RETURN(spec.precision, TakeCount(text, 0));
    spec.precision = std::max<int64_t>(0, spec.precision);
    return {};
  }

  // Removes a number from the front of `text`, or takes the next value for "*".
  Result<int64_t> TakeCount(std::string_view& text, int64_t otherwise) {
    if (text.starts_with('*')) {
      text.remove_prefix(1);
      FT_ASSIGN_OR_RETURN(const Value value, NextValue());
      if (!value.IsIntegral() || std::abs(value.AsDouble()) > 1e9) {
        return Error{"%: expected an integer for '*'"};
      }
      return value.AsInt();
    }
    int64_t number = otherwise;
    for (; !text.empty() && std::isdigit(static_cast<unsigned char>(text[0]));
         text.remove_prefix(1)) {
      number = std::min<int64_t>(1'000'000'000, number * 10 + (text[0] - '0'));
    }
    return number;
  }

  Result<Value> NextValue() {
    const size_t i = taken_++;
    if (!values_.IsTuple() && i == 0) return values_;
    if (values_.IsTuple() && i < values_.items().size()) return values_.items()[i];
    return Error{"%: the text has more fields than there are values"};
  }

  Result<std::string> FormatAs(const Value& value, FormatSpec spec) {
    const bool is_text = std::string_view("sra").find(spec.type) != std::string_view::npos;
    if (is_text || (spec.type == 'c' && value.IsString())) {
      FT_ASSIGN_OR_RETURN(const std::string text, spec.type == 's' || spec.type == 'c'
                                                      ? ToText(value, heap_)
                                                      : ToRepr(value, heap_));
      if (spec.type != 'c' && spec.precision < 0 && spec.width == 0) return text;
      const FormatSpec padding{.fill = " ",
                               .align = spec.align == '<' ? '<' : '>',
                               .width = spec.width,
                               .precision = spec.precision};
      return FormatString(text, padding, heap_);
    }
    if (value.Is(Kind::kUndefined)) return UndefinedError(value);
    if (std::string_view("diuoxXeEfFgGc").find(spec.type) == std::string_view::npos) {
      return Error{std::string("%: there is no field of the type '") + spec.type + "'"};
    }
    if (!value.IsNumber()) {
      return Error{std::string("%") + spec.type + ": expected a number, found " +
                   std::string(value.TypeName())};
    }
    if (std::string_view("eEfFgG").find(spec.type) != std::string_view::npos) {
      return FormatNumber(value, spec, heap_);
    }
    return FormatWhole(value, spec);
  }

  Result<std::string> FormatWhole(Value value, FormatSpec spec) {
    const bool decimal = spec.type == 'd' || spec.type == 'i' || spec.type == 'u';
    if (value.Is(Kind::kFloat)) {
      const double whole = std::trunc(value.AsDouble());
      if (!decimal || !(std::abs(whole) < 9e18)) {
        return Error{std::string("%") + spec.type + ": expected an integer"};
      }
      value = Value::Int(static_cast<int64_t>(whole));
    }
    if (decimal) spec.type = 'd';
    // The precision of an integer is its minimum number of digits.
    if (const int64_t digits = std::exchange(spec.precision, -1); digits > 0 && spec.type != 'c') {
      FormatSpec number = spec;
      number.fill = "0";
      number.align = '=';
      number.width = digits;
      const bool has_sign = value.AsInt() < 0 || spec.sign != '-';
      number.width += (has_sign ? 1 : 0) + (spec.alternate && !decimal ? 2 : 0);
      FT_ASSIGN_OR_RETURN(const std::string text, FormatNumber(value, number, heap_));
      if (spec.align != '0') {
        const FormatSpec padding{.align = spec.align, .width = spec.width};
        return FormatString(text, padding, heap_);
      }
      spec.width = std::max(spec.width, number.width);
    }
    return FormatNumber(value, spec, heap_);
  }

  const Value& values_;
  Heap& heap_;
  size_t taken_ = 0;
};

}  // namespace

Result<Value> FormatFields(const std::string& text, const Arguments& arguments, Heap& heap) {
  FT_ASSIGN_OR_RETURN(std::string out,
                      FieldFormatter(arguments, heap).Format(text, kMostNesting - 1));
  return heap.String(std::move(out));
}

Result<Value> FormatPercent(const std::string& text, const Value& values, Heap& heap) {
  FT_ASSIGN_OR_RETURN(std::string out, PercentFormatter(values, heap).Format(text));
  return heap.String(std::move(out));
}

}  // namespace foretoken::jinja
