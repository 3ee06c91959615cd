// Methods of str that pad, partition or classify text.
#include <algorithm>

#include "jinja/arguments.h"
#include "jinja/format.h"
#include "jinja/methods.h"
#include "jinja/unicode.h"

namespace foretoken::jinja {
namespace {

Status TakesNothing(std::string_view name, const Arguments& arguments) {
  const auto bound = BoundArguments::Bind(name, arguments, {});
  return bound.ok() ? Status() : Status(bound.error());
}

// center, ljust and rjust.
Result<Value> Justify(const std::string& text, std::string_view name, const Arguments& arguments,
                      Heap& heap) {
  FT_ASSIGN_OR_RETURN(const BoundArguments bound,
                      BoundArguments::Bind(name, arguments, {"width", "fillchar"}, 1));
  FT_ASSIGN_OR_RETURN(const int64_t width, bound.Int(0));
  FT_ASSIGN_OR_RETURN(const std::string fill, bound.String(1, " "));
  if (CountCodePoints(fill) != 1) {
    return Error{std::string(name) + ": expected one character as 'fillchar'"};
  }
  const Side side = name == "ljust" ? Side::kLeft : name == "rjust" ? Side::kRight : Side::kBoth;
  return Pad(text, width, fill, side, heap);
}

Result<Value> ZeroFill(const std::string& text, std::string_view name, const Arguments& arguments,
                       Heap& heap) {
  FT_ASSIGN_OR_RETURN(const BoundArguments bound,
                      BoundArguments::Bind(name, arguments, {"width"}, 1));
  FT_ASSIGN_OR_RETURN(const int64_t width, bound.Int(0));
  const size_t sign = text.starts_with('-') || text.starts_with('+') ? 1 : 0;
  FT_ASSIGN_OR_RETURN(
      const Value padded,
      Pad(text.substr(sign), std::max<int64_t>(width, 0) - static_cast<int64_t>(sign), "0",
          Side::kRight, heap));
  return heap.String(text.substr(0, sign) + padded.str());
}

Result<Value> ExpandTabs(const std::string& text, std::string_view name, const Arguments& arguments,
                         Heap& heap) {
  FT_ASSIGN_OR_RETURN(const BoundArguments bound,
                      BoundArguments::Bind(name, arguments, {"tabsize"}));
  FT_ASSIGN_OR_RETURN(const int64_t size, bound.Int(0, 8));
  std::string out;
  int64_t column = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t bytes = Decode(text, at).size;
    if (text[at] == '\t') {
      const int64_t blanks = size > 0 ? size - column % size : 0;
      FT_RETURN_IF_ERROR(heap.Reserve(out.size() + static_cast<size_t>(blanks)));
      out.append(static_cast<size_t>(blanks), ' ');
      column += blanks;
    } else {
      out.append(text, at, bytes);
      column = text[at] == '\n' || text[at] == '\r' ? 0 : column + 1;
    }
    at += bytes;
  }
  return heap.String(std::move(out));
}

// partition and rpartition: the text before a separator, the separator, and the text after it.
Result<Value> Partition(const std::string& text, std::string_view name, const Arguments& arguments,
                        Heap& heap) {
  FT_ASSIGN_OR_RETURN(const BoundArguments bound,
                      BoundArguments::Bind(name, arguments, {"sep"}, 1));
  FT_ASSIGN_OR_RETURN(const std::string separator, bound.String(0));
  if (separator.empty()) return Error{std::string(name) + ": the separator is empty"};
  const bool from_right = name == "rpartition";
  const size_t at = from_right ? text.rfind(separator) : text.find(separator);
  std::string parts[3];
  if (at == std::string::npos) {
    parts[from_right ? 2 : 0] = text;
  } else {
    parts[0] = text.substr(0, at);
    parts[1] = separator;
    parts[2] = text.substr(at + separator.size());
  }
  std::vector<Value> values;
  for (std::string& part : parts) {
    FT_ASSIGN_OR_RETURN(Value value, heap.String(std::move(part)));
    values.push_back(std::move(value));
  }
  return heap.Tuple(std::move(values));
}

Result<Value> MapCase(const std::string& text, std::string_view name, const Arguments& arguments,
                      Heap& heap) {
  FT_RETURN_IF_ERROR(TakesNothing(name, arguments));
  return heap.String(name == "swapcase" ? SwapCase(text) : CaseFold(text));
}

// format_map(dict): format with the dict's members as named arguments.
Result<Value> FormatMap(const std::string& text, std::string_view name, const Arguments& arguments,
                        Heap& heap) {
  FT_ASSIGN_OR_RETURN(const BoundArguments bound,
                      BoundArguments::Bind(name, arguments, {"mapping"}, 1));
  if (!bound[0].Is(Kind::kDict)) return Error{"format_map: expected a dict"};
  Arguments named;
  for (const auto& [key, value] : bound[0].dict().entries()) {
    if (key.IsString()) named.named.emplace_back(key.str(), value);
  }
  return FormatFields(text, named, heap);
}

bool IsUpper(char32_t c) { return ToLower(c) != c; }
bool IsLower(char32_t c) { return !IsUpper(c) && (ToUpper(c) != c || c == 0xDF); }
bool IsAlphanumeric(char32_t c) { return IsLetter(c) || IsNumeric(c); }
bool IsAscii(char32_t c) { return c < 0x80; }

struct CharacterTest {
  std::string_view name;
  bool (*fits)(char32_t);
  bool of_empty;  // result for an empty text
};
constexpr CharacterTest kCharacterTests[] = {
    {"isspace", IsSpace, false},        {"isalpha", IsLetter, false},
    {"isdecimal", IsDecimal, false},    {"isdigit", IsDigitCharacter, false},
    {"isnumeric", IsNumeric, false},    {"isalnum", IsAlphanumeric, false},
    {"isprintable", IsPrintable, true}, {"isascii", IsAscii, true},
};

// Whether all characters are of the class that the method `name` tests, such as "isdigit".
Result<Value> TestCharacters(const std::string& text, std::string_view name,
                             const Arguments& arguments, Heap&) {
  FT_RETURN_IF_ERROR(TakesNothing(name, arguments));
  const auto* test = std::ranges::find(kCharacterTests, name, &CharacterTest::name);
  for (size_t at = 0; at < text.size(); at += Decode(text, at).size) {
    if (!test->fits(Decode(text, at).value)) return Value::Bool(false);
  }
  return Value::Bool(!text.empty() || test->of_empty);
}

// islower and isupper: whether there are cased characters and all of them have this case.
Result<Value> TestCase(const std::string& text, std::string_view name, const Arguments& arguments,
                       Heap&) {
  FT_RETURN_IF_ERROR(TakesNothing(name, arguments));
  bool found = false;
  for (size_t at = 0; at < text.size(); at += Decode(text, at).size) {
    const char32_t c = Decode(text, at).value;
    if (name == "islower" ? IsUpper(c) : IsLower(c)) return Value::Bool(false);
    found |= IsUpper(c) || IsLower(c);
  }
  return Value::Bool(found);
}

// istitle: whether words begin with a capital and have none after it.
Result<Value> TestTitle(const std::string& text, std::string_view name, const Arguments& arguments,
                        Heap&) {
  FT_RETURN_IF_ERROR(TakesNothing(name, arguments));
  bool found = false, in_word = false;
  for (size_t at = 0; at < text.size(); at += Decode(text, at).size) {
    const char32_t c = Decode(text, at).value;
    if (in_word ? IsUpper(c) : IsLower(c)) return Value::Bool(false);
    in_word = IsUpper(c) || IsLower(c);
    found |= in_word;
  }
  return Value::Bool(found);
}

struct NamedMethod {
  std::string_view name;
  StringMethodPtr method;
};
constexpr NamedMethod kMethods[] = {
    {"center", Justify},           {"ljust", Justify},          {"rjust", Justify},
    {"zfill", ZeroFill},           {"expandtabs", ExpandTabs},  {"partition", Partition},
    {"rpartition", Partition},     {"swapcase", MapCase},       {"casefold", MapCase},
    {"format_map", FormatMap},     {"isspace", TestCharacters}, {"isalpha", TestCharacters},
    {"isdecimal", TestCharacters}, {"isdigit", TestCharacters}, {"isnumeric", TestCharacters},
    {"isalnum", TestCharacters},   {"isascii", TestCharacters}, {"isprintable", TestCharacters},
    {"islower", TestCase},         {"isupper", TestCase},       {"istitle", TestTitle},
};

}  // namespace

StringMethodPtr FindLayoutMethod(std::string_view name) {
  for (const NamedMethod& each : kMethods) {
    if (each.name == name) return each.method;
  }
  return nullptr;
}

Result<Value> Pad(const std::string& text, int64_t width, const std::string& fill, Side side,
                  Heap& heap) {
  const auto size = static_cast<int64_t>(CountCodePoints(text));
  if (width <= size) return heap.String(text);
  const auto missing = static_cast<size_t>(width - size);
  FT_RETURN_IF_ERROR(heap.Reserve(text.size() + std::min<size_t>(missing, 1 << 30) * fill.size()));
  // Python puts the odd character on the left only if the width is odd too.
  const size_t left = side == Side::kLeft    ? 0
                      : side == Side::kRight ? missing
                                             : missing / 2 + (missing & size_t(width) & 1);
  std::string out;
  for (size_t i = 0; i < left; ++i) out += fill;
  out += text;
  for (size_t i = left; i < missing; ++i) out += fill;
  return heap.String(std::move(out));
}

}  // namespace foretoken::jinja
