// Conversion of schemas for values of a single type.
#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <unordered_set>
#include <utility>

#include "base/brief.h"
#include "grammar/json_exprs.h"
#include "grammar/regex.h"
#include "grammar/schema_builder.h"
#include "grammar/schema_formats.h"

namespace foretoken {
namespace {

constexpr size_t kLongestName = 256;  // bytes of a property's name

// The JSON pointer of a member, with "~" and "/" escaped.
std::string Under(const std::string& at, std::string_view name) {
  std::string pointer = at + "/";  // used only in errors and names of rules
  for (const char c : Brief(name)) {
    if (c == '~' || c == '/') {
      pointer += c == '~' ? "~0" : "~1";
    } else {
      pointer += c;
    }
  }
  return pointer;
}

// The keyword's value, an integer of at least 0; `usual` if it is absent.
Result<int> Count(const Json& schema, const char* keyword, int usual, const std::string& at) {
  if (!schema.contains(keyword)) return usual;
  const Json& value = schema[keyword];
  const double count = value.is_number() ? value.get<double>() : -1;
  if (!(count >= 0) || count != std::floor(count)) {
    return Error{at + "/" + keyword + ": expected a whole number of 0 or more"};
  }
  if (count > kMostRepeats) {
    return Error{at + "/" + keyword + ": found " + JsonText(value) + ", at most " +
                 std::to_string(kMostRepeats) + " is supported"};
  }
  return static_cast<int>(count);
}

struct Counts {
  int min, max;
};
Result<Counts> CountsOf(const Json& schema, const char* min, const char* max,
                        const std::string& at) {
  Counts counts{};
  FT_ASSIGN_OR_RETURN(counts.min, Count(schema, min, 0, at));
  FT_ASSIGN_OR_RETURN(counts.max, Count(schema, max, Expr::kUnlimited, at));
  if (counts.max == Expr::kUnlimited || counts.min <= counts.max) return counts;
  return Error{at + ": " + min + " is greater than " + max};
}

Json::const_reference MemberOr(const Json& schema, const char* keyword, const Json& usual) {
  return schema.contains(keyword) ? schema[keyword] : usual;
}

// A bound of numbers. For numbers with decimals, only integer bounds are supported; bounds of
// integers are rounded inwards.
Result<std::optional<int64_t>> Bound(const Json& schema, const char* keyword, bool is_integer,
                                     bool is_lower, const std::string& at) {
  if (!schema.contains(keyword)) return std::optional<int64_t>();
  const Json& value = schema[keyword];
  if (!value.is_number()) return Error{at + "/" + keyword + ": expected a number"};
  const double bound = value.get<double>();
  const double rounded = is_lower ? std::ceil(bound) : std::floor(bound);
  const int digits = is_integer ? kMostDigits : kMostBoundDigits;
  if (std::abs(rounded) >= std::pow(10.0, digits)) {
    return Error{at + "/" + keyword + ": found " + JsonText(value) + ", at most " +
                 std::to_string(digits) + " digits are supported"};
  }
  if (!is_integer && rounded != bound) {
    return Error{at + "/" + keyword + ": found " + JsonText(value) +
                 ", only whole bounds are supported"};
  }
  return std::optional(static_cast<int64_t>(rounded));
}

// The stricter of an inclusive and an exclusive bound. A fractional exclusive bound of integers
// becomes an inclusive one by rounding.
struct OneBound {
  std::optional<int64_t> value;
  bool is_excluded = false;
};
Result<OneBound> NarrowerBound(const Json& schema, const char* keyword, const char* excluded,
                               bool is_integer, bool is_lower, const std::string& at) {
  FT_ASSIGN_OR_RETURN(const auto open, Bound(schema, keyword, is_integer, is_lower, at));
  FT_ASSIGN_OR_RETURN(const auto shut, Bound(schema, excluded, is_integer, is_lower, at));
  if (!shut || (open && (is_lower ? *open > *shut : *open < *shut))) return OneBound{open, false};
  const bool is_whole = schema[excluded].get<double>() == static_cast<double>(*shut);
  return OneBound{shut, is_whole};
}

}  // namespace

Result<Expr> SchemaBuilder::String(const Json& schema, const std::string& at) {
  FT_ASSIGN_OR_RETURN(const Counts counts, CountsOf(schema, "minLength", "maxLength", at));
  const bool has_length = counts.min > 0 || counts.max != Expr::kUnlimited;
  const char* keyword = schema.contains("pattern") ? "pattern" : "format";
  if (!schema.contains(keyword)) {
    if (!has_length) return AnyString();
    const std::string name =
        "string " + std::to_string(counts.min) + " " + std::to_string(counts.max);
    return Shared(name, [&] { return JsonString(counts.min, counts.max); });
  }
  if (has_length || (schema.contains("pattern") && schema.contains("format"))) {
    return Error{at + ": only one of pattern, format and lengths is supported"};
  }
  if (!schema[keyword].is_string()) return Error{at + "/" + keyword + ": expected a text"};
  const std::string text = schema[keyword].get<std::string>();
  std::string pattern = text;
  if (!schema.contains("pattern")) {
    pattern = FormatPattern(text);
    if (pattern.empty()) {
      return Error{at + "/format: found '" + Brief(text) + "', supported: " + FormatNames()};
    }
  }
  Result<Expr> regex = ParseRegex(pattern);
  if (!regex.ok()) return Error{at + "/pattern: '" + Brief(text) + "' " + regex.error().message};
  return Shared("pattern " + pattern, [&] {
    return Expr::Sequence({Expr::Text("\""), JsonEncoded(*regex), Expr::Text("\"")});
  });
}

Result<Expr> SchemaBuilder::Number(const Json& schema, bool is_integer, const std::string& at) {
  FT_ASSIGN_OR_RETURN(const OneBound low, NarrowerBound(schema, "minimum", "exclusiveMinimum",
                                                        is_integer, /*is_lower=*/true, at));
  FT_ASSIGN_OR_RETURN(const OneBound high, NarrowerBound(schema, "maximum", "exclusiveMaximum",
                                                         is_integer, /*is_lower=*/false, at));
  const NumberBounds bounds{low.value, high.value, low.is_excluded, high.is_excluded};
  if (low.value && high.value) {
    const int64_t room = is_integer ? *high.value - high.is_excluded - *low.value - low.is_excluded
                         : low.is_excluded || high.is_excluded ? *high.value - *low.value - 1
                                                               : *high.value - *low.value;
    if (room < 0) return Error{at + ": no number lies within its bounds"};
  }
  const std::string name = std::string(is_integer ? "integer" : "number");
  if (!low.value && !high.value) {
    return Shared(name, [&] { return is_integer ? JsonInteger({}) : JsonNumber({}); });
  }
  return is_integer ? JsonInteger(bounds) : JsonNumber(bounds);
}

Result<Expr> SchemaBuilder::Array(const Json& schema, const std::string& at) {
  FT_ASSIGN_OR_RETURN(const Counts counts, CountsOf(schema, "minItems", "maxItems", at));
  const Json none = Json::array();
  const Json& firsts = MemberOr(schema, "prefixItems", none);
  if (!firsts.is_array()) return Error{at + "/prefixItems: expected a list of schemas"};
  if (schema.contains("items") && schema["items"].is_array()) {
    return Error{at + "/items: a list is not supported, expected a schema; use prefixItems"};
  }
  const auto named = static_cast<int>(firsts.size());
  const int max = counts.max == Expr::kUnlimited ? INT32_MAX : counts.max;
  // Items after prefixItems follow `items`. If `items` is absent, none are generated unless they
  // are required.
  const Json any = true;
  const Json& items = MemberOr(schema, "items", any);
  const bool has_more = max > named && items != false &&
                        (schema.contains("items") || named == 0 || counts.min > named);
  if (counts.min > named && !has_more) return Error{at + ": fewer items than minItems are allowed"};
  const Expr comma = Expr::Sequence({Expr::Text(","), Space()});
  Expr rest = Expr::Text("");
  if (has_more) {
    FT_ASSIGN_OR_RETURN(Expr value, Value(items, at + "/items"));
    const Expr item = AddRule(at + "/items", std::move(value));
    const int min_more = std::max(0, counts.min - named);
    const int max_more = counts.max == Expr::kUnlimited ? Expr::kUnlimited : counts.max - named;
    if (named == 0) {
      Expr more = Expr::Repeat(Expr::Sequence({comma, item}), std::max(0, min_more - 1),
                               max_more == Expr::kUnlimited ? max_more : max_more - 1);
      rest = Expr::Sequence({item, std::move(more)});
      if (min_more == 0) rest = Expr::Optional(std::move(rest));
    } else {
      rest = Expr::Repeat(Expr::Sequence({comma, item}), min_more, max_more);
    }
  }
  // Built from the last prefix item backwards: the array may end after each item beyond the
  // required ones.
  for (int i = std::min(named, max) - 1; i >= 0; --i) {
    const std::string item_at = at + "/prefixItems/" + std::to_string(i);
    FT_ASSIGN_OR_RETURN(Expr item, Value(firsts[static_cast<size_t>(i)], item_at));
    std::vector<Expr> parts;
    if (i > 0) parts.push_back(comma);
    parts.push_back(std::move(item));
    parts.push_back(std::move(rest));
    rest = AddRule(item_at, Expr::Sequence(std::move(parts)));
    if (i >= counts.min) rest = Expr::Optional(std::move(rest));
  }
  if (!has_more && std::min(named, max) == 0) return Expr::Text("[]");
  const Expr filled = Expr::Sequence({Expr::Text("["), Space(), rest, Space(), Expr::Text("]")});
  if (counts.min > 0) return filled;
  return Expr::Choice({Expr::Text("[]"), filled});
}

// A property that is not named, as `additionalProperties` describes it.
Result<Expr> SchemaBuilder::Extra(const Json& schema, const std::vector<std::string>& names,
                                  const std::string& at) {
  const std::string extra_at = at + "/additionalProperties";
  const Json any = true;
  FT_ASSIGN_OR_RETURN(Expr value, Value(MemberOr(schema, "additionalProperties", any), extra_at));
  Expr key = names.empty() ? AnyString() : AddRule(extra_at + " name", JsonStringOtherThan(names));
  return AddRule(extra_at, Expr::Sequence({std::move(key), Expr::Text(":"),
                                           Expr::Optional(Expr::Text(" ")), std::move(value)}));
}

Result<Expr> SchemaBuilder::Object(const Json& schema, const std::string& at) {
  const Json no_properties = Json::object(), none_required = Json::array();
  const Json& properties = MemberOr(schema, "properties", no_properties);
  const Json& required = MemberOr(schema, "required", none_required);
  if (!properties.is_object()) return Error{at + "/properties: expected an object of schemas"};
  if (!required.is_array()) return Error{at + "/required: expected a list of names"};
  const bool has_extra = schema.contains("additionalProperties")
                             ? schema["additionalProperties"] != false
                             : properties.empty();
  // Required members without a schema of their own accept any value.
  std::vector<std::pair<std::string, const Json*>> members;
  const Json any = true;
  for (const auto& [name, member] : properties.items()) members.emplace_back(name, &member);
  const Json& extra_schema = MemberOr(schema, "additionalProperties", any);
  std::unordered_set<std::string> described, needed;
  for (const auto& [name, member] : members) described.insert(name);
  for (const Json& each : required) {
    if (!each.is_string()) return Error{at + "/required: expected a list of names"};
    const std::string name = each.get<std::string>();
    if (!needed.insert(name).second || described.contains(name)) continue;
    if (extra_schema == false) {
      return Error{at + ": '" + Brief(name) + "' is required but not allowed"};
    }
    members.emplace_back(name, &extra_schema);
  }
  std::vector<std::string> names;
  std::vector<Expr> pairs;
  std::vector<bool> is_required;
  for (const auto& [name, member] : members) {
    const std::string member_at = Under(at + "/properties", name);
    if (name.size() > kLongestName) {
      return Error{member_at + ": a name of more than " + std::to_string(kLongestName) + " bytes"};
    }
    const bool must = needed.contains(name);
    names.push_back(name);  // additional properties never use this name, even if it is forbidden
    if (*member == false && !must) continue;
    FT_ASSIGN_OR_RETURN(Expr value, Value(*member, member_at));
    is_required.push_back(must);
    pairs.push_back(
        AddRule(member_at, Expr::Sequence({Expr::Text(JsonText(Json(name)) + ":"),
                                           Expr::Optional(Expr::Text(" ")), std::move(value)})));
  }
  const Expr comma = Expr::Sequence({Expr::Text(","), Space()});
  std::vector<Expr> firsts;  // alternatives for the first member and all that follows
  Expr rest = Expr::Text("");
  if (has_extra) {
    FT_ASSIGN_OR_RETURN(const Expr extra, Extra(schema, names, at));
    rest = AddRule(at + " rest", Expr::Repeat(Expr::Sequence({comma, extra}), 0, Expr::kUnlimited));
    firsts.push_back(Expr::Sequence({extra, rest}));
  }
  bool may_be_empty = true;
  for (size_t i = pairs.size(); i-- > 0;) {
    Expr first = Expr::Sequence({pairs[i], rest});
    if (is_required[i]) {
      firsts.clear();
      may_be_empty = false;
    }
    firsts.push_back(std::move(first));
    Expr next = Expr::Sequence({comma, pairs[i]});
    if (!is_required[i]) next = Expr::Optional(std::move(next));
    rest = AddRule(at + " rest", Expr::Sequence({std::move(next), std::move(rest)}));
  }
  if (firsts.empty()) return Expr::Text("{}");
  const Expr filled = Expr::Sequence(
      {Expr::Text("{"), Space(), Expr::Choice(std::move(firsts)), Space(), Expr::Text("}")});
  if (!may_be_empty) return filled;
  return Expr::Choice({Expr::Text("{}"), filled});
}

Expr SchemaBuilder::AnyValue() {
  return Shared("value", [this] {
    const Expr value = Expr::Rule(named_.at("value"));
    const Expr comma = Expr::Sequence({Expr::Text(","), Space()});
    const Expr items =
        Expr::Sequence({Expr::Text("["), Space(), value,
                        Expr::Repeat(Expr::Sequence({comma, value}), 0, Expr::kUnlimited), Space(),
                        Expr::Text("]")});
    const Expr array = AddRule("array", Expr::Choice({Expr::Text("[]"), items}));
    return Expr::Choice({AnyObject(), array, AnyString(),
                         Shared("number", [] { return JsonNumber({}); }), Expr::Text("true"),
                         Expr::Text("false"), Expr::Text("null")});
  });
}

Expr SchemaBuilder::AnyObject() {
  return Shared("object", [this] {
    const Expr pair = AddRule(
        "pair", Expr::Sequence({AnyString(), Expr::Text(":"), Expr::Optional(Expr::Text(" ")),
                                Expr::Rule(named_.at("value"))}));
    const Expr comma = Expr::Sequence({Expr::Text(","), Space()});
    return Expr::Choice(
        {Expr::Text("{}"),
         Expr::Sequence({Expr::Text("{"), Space(), pair,
                         Expr::Repeat(Expr::Sequence({comma, pair}), 0, Expr::kUnlimited), Space(),
                         Expr::Text("}")})});
  });
}

// A value of enum or const, with the white space allowed in any value.
Expr SchemaBuilder::Literal(const Json& value) {
  if (!value.is_structured() || value.empty()) return Expr::Text(JsonText(value));
  std::vector<Expr> parts{Expr::Text(value.is_array() ? "[" : "{"), Space()};
  bool is_first = true;
  for (const auto& [key, member] : value.items()) {
    if (!std::exchange(is_first, false)) {
      parts.push_back(Expr::Text(","));
      parts.push_back(Space());
    }
    if (value.is_object()) {
      parts.push_back(Expr::Text(JsonText(Json(key)) + ":"));
      parts.push_back(Expr::Optional(Expr::Text(" ")));
    }
    parts.push_back(Literal(member));
  }
  parts.push_back(Space());
  parts.push_back(Expr::Text(value.is_array() ? "]" : "}"));
  return Expr::Sequence(std::move(parts));
}

}  // namespace foretoken
