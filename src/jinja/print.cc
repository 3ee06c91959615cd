// Conversion of values to text: Python's str() and repr(), and json.dumps.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>

#include "jinja/heap.h"
#include "jinja/unicode.h"

namespace foretoken::jinja {
namespace {

// A text buffer bounded by the heap's limit for one value.
class Sink {
 public:
  explicit Sink(Heap& heap) : heap_(heap) {}
  Status Append(std::string_view text) {
    FT_RETURN_IF_ERROR(heap_.Work(text.size()));
    if (text_.size() + text.size() > heap_.limits().value_bytes) {
      return Error{"a text would be longer than " + std::to_string(heap_.limits().value_bytes) +
                   " bytes"};
    }
    text_ += text;
    return {};
  }
  std::string Take() && { return std::move(text_); }

 private:
  Heap& heap_;
  std::string text_;
};

// The shortest digits that parse back to `d`, formatted like Python's repr.
std::string FloatText(double d, std::string_view infinity, std::string_view nan) {
  if (std::isnan(d)) return std::string(nan);
  if (std::isinf(d)) return std::string(d < 0 ? "-" : "").append(infinity);
  char buffer[64];
  char* end = std::to_chars(buffer, buffer + 64, d, std::chars_format::scientific).ptr;
  std::string text(buffer, static_cast<size_t>(end - buffer));
  const size_t e = text.find('e');
  const int exponent = std::stoi(text.substr(e + 1));
  if (exponent < -4 || exponent >= 16) return text;
  end = std::to_chars(buffer, buffer + 64, d, std::chars_format::fixed).ptr;
  text.assign(buffer, static_cast<size_t>(end - buffer));
  return text.find('.') == std::string::npos ? text + ".0" : text;
}

void AppendEscape(char32_t c, std::string& out) {
  char buffer[16];
  const char* format = c < 0x100 ? "\\x%02x" : c < 0x10000 ? "\\u%04x" : "\\U%08x";
  std::snprintf(buffer, sizeof buffer, format, static_cast<unsigned>(c));
  out += buffer;
}

std::string StringRepr(std::string_view text) {
  const bool has_single = text.find('\'') != std::string_view::npos;
  const char quote = has_single && text.find('"') == std::string_view::npos ? '"' : '\'';
  std::string out(1, quote);
  for (size_t at = 0; at < text.size();) {
    const CodePoint c = Decode(text, at);
    const char32_t v = c.value;
    if (v == static_cast<char32_t>(quote) || v == '\\') {
      out += '\\';
      out += static_cast<char>(v);
    } else if (v == '\n' || v == '\r' || v == '\t') {
      out += v == '\n' ? "\\n" : v == '\r' ? "\\r" : "\\t";
    } else if (!c.valid || !IsPrintable(v)) {
      AppendEscape(v, out);
    } else {
      out += text.substr(at, c.size);
    }
    at += c.size;
  }
  return out + quote;
}

std::string JsonEscape(char32_t c) {
  char buffer[16];
  if (c < 0x10000) {
    std::snprintf(buffer, sizeof buffer, "\\u%04x", static_cast<unsigned>(c));
  } else {
    const unsigned high = 0xD800 + (static_cast<unsigned>(c - 0x10000) >> 10);
    const unsigned low = 0xDC00 + (static_cast<unsigned>(c - 0x10000) & 0x3FF);
    std::snprintf(buffer, sizeof buffer, "\\u%04x\\u%04x", high, low);
  }
  return buffer;
}

std::string JsonString(std::string_view text, bool ascii) {
  static constexpr std::string_view kShort = "\"\\\n\r\t\f\b";
  static constexpr std::string_view kLetter = "\"\\nrtfb";
  std::string out = "\"";
  for (size_t at = 0; at < text.size();) {
    const CodePoint c = Decode(text, at);
    const size_t found = c.value < 0x80 ? kShort.find(text[at]) : std::string_view::npos;
    if (found != std::string_view::npos) {
      out += '\\';
      out += kLetter[found];
    } else if (c.value < 0x20 || (ascii && c.value > 0x7E)) {
      out += JsonEscape(c.value);
    } else {
      out += text.substr(at, c.size);
    }
    at += c.size;
  }
  return out + '"';
}

std::string ScalarText(const Value& value) {
  switch (value.kind()) {
    case Kind::kNone:
      return "None";
    case Kind::kBool:
      return value.bool_value() ? "True" : "False";
    case Kind::kInt:
      return std::to_string(value.AsInt());
    case Kind::kFloat:
      return FloatText(value.AsDouble(), "inf", "nan");
    case Kind::kUndefined:
      return "Undefined";
    case Kind::kLoop:
      return "<LoopContext>";
    case Kind::kCallable:
      return std::string(value.callable().macro != nullptr ? "<Macro '" : "<function '")
          .append(value.callable().name)
          .append("'>");
    default:
      return std::string("<").append(value.TypeName()).append(">");
  }
}

Status Repr(const Value& value, Heap& heap, Sink& out) {
  if (value.IsString()) {
    FT_RETURN_IF_ERROR(heap.Work(value.str().size()));
    return out.Append(StringRepr(value.str()));
  }
  bool first = true;
  if (value.Is(Kind::kSequence)) {
    FT_RETURN_IF_ERROR(out.Append(value.IsTuple() ? "(" : "["));
    for (const Value& item : value.items()) {
      if (!std::exchange(first, false)) FT_RETURN_IF_ERROR(out.Append(", "));
      FT_RETURN_IF_ERROR(Repr(item, heap, out));
    }
    if (!value.IsTuple()) return out.Append("]");
    return out.Append(value.items().size() == 1 ? ",)" : ")");
  }
  if (value.Is(Kind::kDict)) {
    FT_RETURN_IF_ERROR(out.Append("{"));
    for (const auto& [key, element] : value.dict().entries()) {
      if (!std::exchange(first, false)) FT_RETURN_IF_ERROR(out.Append(", "));
      FT_RETURN_IF_ERROR(Repr(key, heap, out));
      FT_RETURN_IF_ERROR(out.Append(": "));
      FT_RETURN_IF_ERROR(Repr(element, heap, out));
    }
    return out.Append("}");
  }
  return out.Append(ScalarText(value));
}

// One call of json.dumps.
class JsonWriter {
 public:
  JsonWriter(const JsonStyle& style, Heap& heap) : style_(style), heap_(heap), out_(heap) {}

  Status Write(const Value& value, int level) {
    switch (value.kind()) {
      case Kind::kNone:
        return out_.Append("null");
      case Kind::kBool:
        return out_.Append(value.bool_value() ? "true" : "false");
      case Kind::kInt:
        return out_.Append(std::to_string(value.AsInt()));
      case Kind::kFloat:
        return out_.Append(FloatText(value.AsDouble(), "Infinity", "NaN"));
      case Kind::kString:
        return WriteString(value.str());
      case Kind::kSequence:
        return WriteList(value.items(), level);
      case Kind::kDict:
        return WriteDict(value.dict(), level);
      default:
        return Error{"tojson: a value of type " + std::string(value.TypeName()) +
                     " has no JSON form"};
    }
  }
  std::string Take() && { return std::move(out_).Take(); }

 private:
  Status WriteString(const std::string& text) {
    FT_RETURN_IF_ERROR(heap_.Work(text.size()));
    return out_.Append(JsonString(text, style_.ascii));
  }

  Status NewLine(int level) {
    if (!style_.pretty) return {};
    FT_RETURN_IF_ERROR(out_.Append("\n"));
    for (int i = 0; i < level; ++i) FT_RETURN_IF_ERROR(out_.Append(style_.indent));
    return {};
  }

  Status WriteList(const std::vector<Value>& items, int level) {
    if (items.empty()) return out_.Append("[]");
    FT_RETURN_IF_ERROR(out_.Append("["));
    bool first = true;
    for (const Value& item : items) {
      if (!std::exchange(first, false)) FT_RETURN_IF_ERROR(out_.Append(style_.item_separator));
      FT_RETURN_IF_ERROR(NewLine(level + 1));
      FT_RETURN_IF_ERROR(Write(item, level + 1));
    }
    FT_RETURN_IF_ERROR(NewLine(level));
    return out_.Append("]");
  }

  Status WriteKey(const Value& key) {
    if (key.IsString()) return WriteString(key.str());
    if (!key.IsNumber() && !key.Is(Kind::kNone)) {
      return Error{"tojson: a dict key of type " + std::string(key.TypeName()) +
                   " has no JSON form; expected a string"};
    }
    FT_RETURN_IF_ERROR(out_.Append("\""));
    FT_RETURN_IF_ERROR(Write(key, 0));
    return out_.Append("\"");
  }

  Status WriteDict(const Dict& dict, int level) {
    if (dict.entries().empty()) return out_.Append("{}");
    std::vector<const Dict::Entry*> entries;
    for (const Dict::Entry& entry : dict.entries()) entries.push_back(&entry);
    if (style_.sort_keys) {
      std::stable_sort(entries.begin(), entries.end(), [](const auto* a, const auto* b) {
        return a->first.IsString() && b->first.IsString() && a->first.str() < b->first.str();
      });
    }
    FT_RETURN_IF_ERROR(out_.Append("{"));
    bool first = true;
    for (const Dict::Entry* entry : entries) {
      if (!std::exchange(first, false)) FT_RETURN_IF_ERROR(out_.Append(style_.item_separator));
      FT_RETURN_IF_ERROR(NewLine(level + 1));
      FT_RETURN_IF_ERROR(WriteKey(entry->first));
      FT_RETURN_IF_ERROR(out_.Append(style_.key_separator));
      FT_RETURN_IF_ERROR(Write(entry->second, level + 1));
    }
    FT_RETURN_IF_ERROR(NewLine(level));
    return out_.Append("}");
  }

  const JsonStyle& style_;
  Heap& heap_;
  Sink out_;
};

}  // namespace

Result<std::string> ToText(const Value& value, Heap& heap) {
  if (value.IsString()) return value.str();
  if (value.Is(Kind::kUndefined)) return std::string();
  return ToRepr(value, heap);
}

Result<std::string> ToRepr(const Value& value, Heap& heap) {
  Sink out(heap);
  FT_RETURN_IF_ERROR(Repr(value, heap, out));
  return std::move(out).Take();
}

Result<std::string> ToJson(const Value& value, const JsonStyle& style, Heap& heap) {
  JsonWriter writer(style, heap);
  FT_RETURN_IF_ERROR(writer.Write(value, 0));
  return std::move(writer).Take();
}

}  // namespace foretoken::jinja
