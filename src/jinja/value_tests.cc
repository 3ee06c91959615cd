// The tests of the operator "is".
#include <algorithm>

#include "jinja/arguments.h"
#include "jinja/filters.h"
#include "jinja/operators.h"
#include "jinja/unicode.h"

namespace foretoken::jinja {
namespace {

struct Alias {
  std::string_view name;
  std::string_view op;
};
constexpr Alias kComparisons[] = {
    {"eq", "=="}, {"equalto", "=="}, {"==", "=="},      {"ne", "!="},
    {"!=", "!="}, {"lt", "<"},       {"lessthan", "<"}, {"<", "<"},
    {"le", "<="}, {"<=", "<="},      {"gt", ">"},       {"greaterthan", ">"},
    {">", ">"},   {"ge", ">="},      {">=", ">="},      {"in", "in"},
};

bool HasNoCase(std::string_view text, char32_t (*other_case)(char32_t)) {
  bool cased = false;
  for (size_t at = 0; at < text.size(); at += Decode(text, at).size) {
    const char32_t c = Decode(text, at).value;
    if (other_case(c) != c) return false;
    cased |= ToUpper(c) != c || ToLower(c) != c;
  }
  return cased;
}

bool IsCallable(const Value& value) {
  return value.Is(Kind::kCallable) ||
         (value.Is(Kind::kNamespace) && value.name_space()->made_by == Global::kJoiner);
}

// Evaluates tests of a value's kind; kUnknown if `name` is not such a test.
enum class Answer { kNo, kYes, kUnknown };

Answer KindTest(std::string_view name, const Value& value) {
  const auto answer = [](bool yes) { return yes ? Answer::kYes : Answer::kNo; };
  const Kind kind = value.kind();
  const bool is_bool = kind == Kind::kBool;
  const bool is_collection = kind == Kind::kUndefined || kind == Kind::kString ||
                             kind == Kind::kSequence || kind == Kind::kDict;
  if (name == "defined") return answer(kind != Kind::kUndefined);
  if (name == "undefined") return answer(kind == Kind::kUndefined);
  if (name == "none") return answer(kind == Kind::kNone);
  if (name == "string") return answer(kind == Kind::kString);
  if (name == "mapping") return answer(kind == Kind::kDict);
  if (name == "iterable") return answer(is_collection || kind == Kind::kLoop);
  if (name == "sequence") return answer(is_collection);
  if (name == "number") return answer(value.IsNumber());
  if (name == "integer") return answer(kind == Kind::kInt);
  if (name == "float") return answer(kind == Kind::kFloat);
  if (name == "boolean") return answer(is_bool);
  if (name == "true") return answer(is_bool && value.bool_value());
  if (name == "false") return answer(is_bool && !value.bool_value());
  if (name == "callable") return answer(IsCallable(value));
  if (name == "escaped") return answer(false);  // there is no markup
  if (name == "filter") return answer(value.IsString() && IsFilter(value.str()));
  if (name == "test") return answer(value.IsString() && IsTest(value.str()));
  return Answer::kUnknown;
}

Result<bool> DivisibilityTest(std::string_view name, const Value& value, const Arguments& arguments,
                              Heap& heap) {
  Value divisor = Value::Int(2);
  if (name == "divisibleby") {
    FT_ASSIGN_OR_RETURN(const BoundArguments bound,
                        BoundArguments::Bind(name, arguments, {"num"}, 1));
    divisor = bound[0];
  }
  FT_ASSIGN_OR_RETURN(const Value remainder, BinaryOperation("%", value, divisor, heap));
  const bool divides = !remainder.Truthy();
  return divides == (name != "odd");
}

constexpr std::string_view kOtherTests[] = {"odd",    "even",  "divisibleby",
                                            "sameas", "upper", "lower"};

}  // namespace

bool IsTest(std::string_view name) {
  return KindTest(name, Value()) != Answer::kUnknown ||
         std::ranges::find(kComparisons, name, &Alias::name) != std::end(kComparisons) ||
         std::ranges::find(kOtherTests, name) != std::end(kOtherTests);
}

Result<bool> ApplyTest(std::string_view name, const Value& value, const Arguments& arguments,
                       Heap& heap) {
  FT_RETURN_IF_ERROR(heap.Work());
  if (const Answer answer = KindTest(name, value); answer != Answer::kUnknown) {
    return answer == Answer::kYes;
  }
  for (const Alias& comparison : kComparisons) {
    if (comparison.name != name) continue;
    FT_ASSIGN_OR_RETURN(const BoundArguments bound,
                        BoundArguments::Bind(name, arguments, {"other"}, 1));
    return Compare(comparison.op, value, bound[0], heap);
  }
  if (name == "odd" || name == "even" || name == "divisibleby") {
    return DivisibilityTest(name, value, arguments, heap);
  }
  if (name == "sameas") {
    FT_ASSIGN_OR_RETURN(const BoundArguments bound,
                        BoundArguments::Bind(name, arguments, {"other"}, 1));
    return value.SameObject(bound[0]);
  }
  if (name == "upper" || name == "lower") {
    FT_ASSIGN_OR_RETURN(const std::string text, ToText(value, heap));
    return HasNoCase(text, name == "upper" ? ToUpper : ToLower);
  }
  return Error{"there is no test named '" + std::string(name) + "'"};
}

}  // namespace foretoken::jinja
