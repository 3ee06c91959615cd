#include "jinja/chat_template.h"

#include <gtest/gtest.h>

#include <string>

#include "base/json.h"

namespace foretoken {
namespace {

using Options = ChatTemplate::Options;

// The rendered text, or "error: " and the message.
std::string Rendered(const std::string& source, const std::string& variables = "{}",
                     Options options = {}) {
  const Result<ChatTemplate> parsed = ChatTemplate::Parse(source, "t");
  if (!parsed.ok()) return "error: " + parsed.error().message;
  const Result<Json> json = ParseJson(variables, "variables");
  EXPECT_TRUE(json.ok());
  options.variables = &*json;
  const Result<std::string> text = parsed->Render(options);
  return text.ok() ? *text : "error: " + text.error().message;
}

// The value of one expression.
std::string Value(const std::string& expression, const std::string& variables = "{}") {
  return Rendered("{{ " + expression + " }}", variables);
}

bool IsError(const std::string& rendered) { return rendered.starts_with("error: "); }

TEST(ChatTemplate, RendersMessages) {
  const Result<ChatTemplate> parsed = ChatTemplate::Parse(
      "{{ bos_token }}{% for m in messages %}<{{ m.role }}>{{ m['content'] }}{{ eos_token }}"
      "{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}",
      "t");
  ASSERT_TRUE(parsed.ok());
  const ChatMessage chat[] = {{"user", "hi"}, {"assistant", "ho"}};
  const Result<std::string> text =
      parsed->Render({.chat = chat, .bos_token = "<s>", .eos_token = "</s>"});
  ASSERT_TRUE(text.ok());
  EXPECT_EQ(*text, "<s><user>hi</s><assistant>ho</s><assistant>");
}

TEST(ChatTemplate, PrintsValuesAsPythonDoes) {
  EXPECT_EQ(Value("1.0"), "1.0");
  EXPECT_EQ(Value("1e16"), "1e+16");
  EXPECT_EQ(Value("0.00001"), "1e-05");
  EXPECT_EQ(Value("123456789.125"), "123456789.125");
  EXPECT_EQ(Value("true"), "True");
  EXPECT_EQ(Value("none"), "None");
  EXPECT_EQ(Value("[1, 'a\\n', \"it's\", {'k': (1,)}, 2.5]"),
            "[1, 'a\\n', \"it's\", {'k': (1,)}, 2.5]");
  EXPECT_EQ(Value("missing"), "");
  EXPECT_EQ(Value("1, 2"), "(1, 2)");
}

TEST(ChatTemplate, ArithmeticMatchesPython) {
  EXPECT_EQ(Value("1 + 2 * 3 - -4"), "11");
  EXPECT_EQ(Value("7 / 2"), "3.5");
  EXPECT_EQ(Value("-7 // 2"), "-4");
  EXPECT_EQ(Value("-7 % 3"), "2");
  EXPECT_EQ(Value("2 ** 10"), "1024");
  EXPECT_EQ(Value("'a' * 3 + 'b'"), "aaab");
  EXPECT_EQ(Value("1 ~ 'x' ~ none"), "1xNone");
  EXPECT_EQ(Value("[1] + [2] == [1, 2]"), "True");
  EXPECT_TRUE(IsError(Value("'a' + 1")));
  EXPECT_TRUE(IsError(Value("1 / 0")));
  EXPECT_TRUE(IsError(Value("9223372036854775807 + 1")));
}

TEST(ChatTemplate, LogicAndComparisonsMatchPython) {
  EXPECT_EQ(Value("1 < 2 < 3 and not 3 < 2"), "True");
  EXPECT_EQ(Value("'' or 'x'"), "x");
  EXPECT_EQ(Value("0 and 1"), "0");
  EXPECT_EQ(Value("'a' if false"), "");
  EXPECT_EQ(Value("'a' if 0 else 'b' if 0 else 'c'"), "c");
  EXPECT_EQ(Value("'b' in 'abc', 4 not in [1], 'k' in {'k': 1}"), "(True, True, True)");
  EXPECT_EQ(Value("1 == 1.0 == true"), "True");
  EXPECT_EQ(Value("missing == other_missing"), "True");
  EXPECT_TRUE(IsError(Value("1 < 'a'")));
}

TEST(ChatTemplate, AttributesItemsAndSlicesMatchJinja) {
  const std::string variables = R"({"d": {"a": [1, 2, 3, 4], "items": 5}, "s": "aéz"})";
  EXPECT_EQ(Value("d.a[1], d['a'][-1], d.a.0", variables), "(2, 4, 1)");
  EXPECT_EQ(Value("d['items']", variables), "5");
  EXPECT_EQ(Value("d.a[1:], d.a[::-1], d.a[:-1:2], d.a[-2:]", variables),
            "([2, 3, 4], [4, 3, 2, 1], [1, 3], [3, 4])");
  EXPECT_EQ(Value("s[1] ~ s[::-1] ~ s[1:]", variables), "ézéaéz");
  EXPECT_EQ(Value("d.nope is defined, d.a[9] is defined", variables), "(False, False)");
  EXPECT_EQ(Value("d.nope.more", variables),
            "error: t: line 1: a value of type dict has no attribute or item 'nope'");
  EXPECT_EQ(Value("nope.more", variables), "error: t: line 1: 'nope' is undefined");
}

TEST(ChatTemplate, StringMethodsMatchPython) {
  EXPECT_EQ(Value("' a '.strip() ~ 'xxay'.lstrip('x') ~ 'ayy'.rstrip('y')"), "aaya");
  EXPECT_EQ(Value("'a,b,c'.split(','), 'a  b '.split(), 'a,b,c'.split(',', 1)"),
            "(['a', 'b', 'c'], ['a', 'b'], ['a', 'b,c'])");
  EXPECT_EQ(Value("'a,b,c'.rsplit(',', 1)"), "['a,b', 'c']");
  EXPECT_EQ(Value("'aXbX'.replace('X', '-', 1), 'ab'.replace('', '.')"), "('a-bX', '.a.b.')");
  EXPECT_EQ(Value("'hello wORLD'.title(), 'éA'.upper(), 'ÉA'.lower(), 'aB'.capitalize()"),
            "('Hello World', 'ÉA', 'éa', 'Ab')");
  EXPECT_EQ(Value("'abc'.startswith('ab'), 'abc'.endswith(('x', 'c')), 'éab'.find('b')"),
            "(True, True, 2)");
  EXPECT_EQ(Value("'-'.join(['a', 'b'])"), "a-b");
  EXPECT_EQ(Value("'{} {} {x}'.format(1, 2, x=3)"), "1 2 3");
  EXPECT_TRUE(IsError(Value("'{} {1}'.format(1, 2)")));
  EXPECT_TRUE(IsError(Value("'a'.strip(1)")));
  EXPECT_TRUE(IsError(Value("'a'.nothing()")));
}

TEST(ChatTemplate, DictMethodsMatchPythonWithinTheSandbox) {
  const std::string variables = R"({"d": {"b": 1, "a": 2}})";
  EXPECT_EQ(Rendered("{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}", variables),
            "b=1;a=2;");
  EXPECT_EQ(Value("d.get('x', 7), d.get('x'), d.keys()|list, d.values()|list", variables),
            "(7, None, ['b', 'a'], [1, 2])");
  EXPECT_TRUE(IsError(Value("d.update({'c': 3})", variables)));
  EXPECT_TRUE(IsError(Value("[1].append(2)")));
  EXPECT_EQ(Value("d.__class__", variables), "");
}

TEST(ChatTemplate, FiltersMatchJinja) {
  EXPECT_EQ(Value("[3, 1, 2]|sort, ['b', 'A']|sort, [1, 2]|sort(reverse=true)"),
            "([1, 2, 3], ['A', 'b'], [2, 1])");
  EXPECT_EQ(Value("{'b': 1, 'A': 2}|dictsort"), "[('A', 2), ('b', 1)]");
  EXPECT_EQ(Value("[1, 2, 3]|join('-') ~ 'ab'|first ~ [1, 2]|last ~ 'abc'|length"), "1-2-3a23");
  EXPECT_EQ(Value("x|default('d') ~ ''|d('e', true) ~ none|default('n')"), "deNone");
  EXPECT_EQ(Value("[{'a': 1}, {'a': 2}]|map(attribute='a')|list"), "[1, 2]");
  EXPECT_EQ(Value("['a', 'b']|map('upper')|join"), "AB");
  EXPECT_EQ(Value("[1, 2, 3, 4]|select('odd')|list, [0, 1]|reject|list"), "([1, 3], [0])");
  EXPECT_EQ(Value("[{'r': 'u'}, {'r': 's'}]|selectattr('r', 'equalto', 'u')|list"), "[{'r': 'u'}]");
  EXPECT_EQ(Value("'42.7'|int, 'x'|int(5), '1.5'|float, 2.5|round, 1.25|round(1), -3|abs"),
            "(42, 5, 1.5, 2.0, 1.2, 3)");
  EXPECT_EQ(Value("[1, 1, 2]|unique|list, [1, 5, 2]|max, [1, 2]|sum, 'ab'|reverse"),
            "([1, 2], 5, 3, 'ba')");
  EXPECT_EQ(Value("'a\nb\n\nc'|indent(2)"), "a\n  b\n\n  c");
  EXPECT_EQ(Value("'<a & \"b\">'|e"), "&lt;a &amp; &#34;b&#34;&gt;");
  EXPECT_EQ(Value("'foo bar-baz'|title"), "Foo Bar-Baz");
  EXPECT_EQ(Value("1|nope"), "error: t: line 1: there is no filter named 'nope'");
}

TEST(ChatTemplate, ToJsonMatchesTransformers) {
  const std::string variables = R"({"v": {"a": [1, 2.0, "é\n<\"", null, true], "b": {}}})";
  EXPECT_EQ(Value("v|tojson", variables), R"({"a": [1, 2.0, "é\n<\"", null, true], "b": {}})");
  EXPECT_EQ(Value("[1, {'a': []}]|tojson(indent=2)"), "[\n  1,\n  {\n    \"a\": []\n  }\n]");
  EXPECT_EQ(Value("'é😀'|tojson(ensure_ascii=true)"), "\"\\u00e9\\ud83d\\ude00\"");
  EXPECT_EQ(Value("{'b': 1, 'a': 2}|tojson(sort_keys=true, separators=(',', ':'))"),
            R"({"a":2,"b":1})");
  EXPECT_TRUE(IsError(Value("missing|tojson")));
}

TEST(ChatTemplate, TestsMatchJinja) {
  EXPECT_EQ(Value("'a' is string, {} is mapping, [] is iterable, 1 is number, 1.0 is integer"),
            "(True, True, True, True, False)");
  EXPECT_EQ(Value("none is none, x is undefined, x is not defined, true is true, 3 is odd"),
            "(True, True, True, True, True)");
  EXPECT_EQ(Value("4 is divisibleby 2, 1 is eq 1, 1 is in [1], 2 is gt(1), 'a' is lower"),
            "(True, True, True, True, True)");
  EXPECT_EQ(Value("1 is nope"), "error: t: line 1: there is no test named 'nope'");
}

TEST(ChatTemplate, LoopsMatchJinja) {
  EXPECT_EQ(Rendered("{% for x in 'abc' %}{{ loop.index }}{{ x }}{{ loop.last }} {% endfor %}"),
            "1aFalse 2bFalse 3cTrue ");
  EXPECT_EQ(Rendered("{% for x in [] %}a{% else %}none{% endfor %}"), "none");
  EXPECT_EQ(Rendered("{% for x in range(6) if x is odd %}{{ x }}/{{ loop.length }} {% endfor %}"),
            "1/3 3/3 5/3 ");
  EXPECT_EQ(Rendered("{% for x in range(9) %}{% if x == 1 %}{% continue %}{% elif x == 3 %}"
                     "{% break %}{% endif %}{{ x }}{% endfor %}"),
            "02");
  EXPECT_EQ(Rendered("{% for a, (b, c) in [(1, (2, 3))] %}{{ a + b + c }}{% endfor %}"), "6");
  EXPECT_EQ(Rendered("{% for x in [1, 2] %}{{ loop.previtem }}{{ loop.nextitem }};{% endfor %}"),
            "2;1;");
  EXPECT_EQ(
      Rendered("{% set x = 1 %}{% for i in [1, 2] %}{{ x }}{% set x = 5 %}{% endfor %}{{ x }}"),
      "111");
}

TEST(ChatTemplate, AssignmentsMatchJinjasScopes) {
  EXPECT_EQ(Rendered("{% set ns = namespace(n=0) %}{% for i in range(4) %}"
                     "{% set ns.n = ns.n + i %}{% endfor %}{{ ns.n }}"),
            "6");
  EXPECT_EQ(Rendered("{% set a, b = 1, 2 %}{{ a }}{{ b }}"), "12");
  EXPECT_EQ(Rendered("{% set t | upper %}x{{ 1 }}y{% endset %}{{ t }}"), "X1Y");
  EXPECT_EQ(Rendered("{% with a = 1, b = 2 %}{{ a + b }}{% endwith %}{{ a }}"), "3");
  EXPECT_EQ(Rendered("{% filter upper %}a{{ 'b' }}{% endfilter %}"), "AB");
  EXPECT_TRUE(IsError(Rendered("{% set d = {} %}{% set d.x = 1 %}")));
}

TEST(ChatTemplate, MacrosBindArgumentsAsInJinja) {
  EXPECT_EQ(Rendered("{% macro f(a, b=a ~ '!') %}[{{ a }}|{{ b }}]{% endmacro %}"
                     "{{ f(1) }}{{ f(1, b=2) }}{{ f(b=3) }}"),
            "[1|1!][1|2][|3]");
  EXPECT_EQ(Rendered("{% macro f() %}{{ varargs|length }}{{ kwargs.x }}{% endmacro %}"
                     "{{ f(1, 2, x=3) }}"),
            "23");
  EXPECT_EQ(Rendered("{% macro f() %}<{{ caller(7) }}>{% endmacro %}"
                     "{% call(n) f() %}body {{ n }}{% endcall %}"),
            "<body 7>");
  EXPECT_EQ(Rendered("{% macro fact(n) %}{{ n * fact(n - 1)|int if n else 1 }}{% endmacro %}"
                     "{{ fact(5) }}"),
            "120");
  EXPECT_TRUE(IsError(Rendered("{% macro f(a) %}{% endmacro %}{{ f(1, 2) }}")));
  EXPECT_TRUE(IsError(Rendered("{% macro f(a) %}{% endmacro %}{{ f(z=2) }}")));
}

TEST(ChatTemplate, WhitespaceIsTrimmedAsInTransformers) {
  EXPECT_EQ(Rendered("a\n  {% if true %}\nb\n  {% endif %}\nc\n"), "a\nb\nc");
  EXPECT_EQ(Rendered("a  {%- if true -%}  b  {%- endif %}  c"), "ab  c");
  EXPECT_EQ(Rendered("a\n  {%+ if true %}b{% endif +%}\nc"), "a\n  b\nc");
  EXPECT_EQ(Rendered("x {# note #}\ny"), "x y");
  EXPECT_EQ(Rendered("x\n  {#- note -#}  \ny"), "xy");
  EXPECT_EQ(Rendered("{{ 1 -}}  \n {{- 2 }}"), "12");
  EXPECT_EQ(Rendered("{% raw %}{{ x }}{% if %}{% endraw %}!"), "{{ x }}{% if %}!");
  EXPECT_EQ(Rendered("a\r\nb\rc\n"), "a\nb\nc");
  EXPECT_EQ(Rendered("a{% generation %}b{% endgeneration %}c"), "abc");
}

TEST(ChatTemplate, ErrorsNameOriginLineAndExpectation) {
  EXPECT_EQ(Rendered("a\n{% if x %}"),
            "error: t: line 2: expected '{% endif %}', found the end of "
            "the template");
  EXPECT_EQ(Rendered("\n\n{{ raise_exception('Only user!') }}"), "error: t: line 3: Only user!");
  EXPECT_EQ(Rendered("{{ 'a }}"), "error: t: line 1: expected ' to end the string, found the end");
  EXPECT_EQ(Rendered("{{ (1] }}"), "error: t: line 1: expected ')', found ']'");
  for (const char* source :
       {"{{", "{{ }}", "{% %}", "{% nope %}", "{% for %}", "{{ 1 + }}", "{% endif %}", "{{ a b }}",
        "{% break %}", "{# x", "{% raw %}", "{{ '\\ud800' }}", "{% set x %}", "{{ f(a=1, 2) }}",
        "{{ 99999999999999999999 }}"}) {
    EXPECT_TRUE(IsError(Rendered(source))) << source;
  }
}

TEST(ChatTemplate, HostileTemplatesEndWithAnError) {
  const std::string loop = "{% for i in range(100000) %}";
  EXPECT_TRUE(
      IsError(Rendered(loop + loop + "{% endfor %}{% endfor %}", "{}", {.max_work = 100000})));
  EXPECT_TRUE(IsError(Rendered("{{ range(1000000) }}")));
  EXPECT_TRUE(IsError(Rendered("{{ 'aaaaaaaaaa' * 1000000000 }}")));
  EXPECT_TRUE(IsError(Rendered("{{ [0] * 1000000000 }}")));
  EXPECT_TRUE(IsError(Rendered("{{ [1]|tojson(indent=1000000000) }}")));
  EXPECT_TRUE(IsError(Rendered("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}")));
  EXPECT_TRUE(
      IsError(Rendered("{{ " + std::string(5000, '(') + "1" + std::string(5000, ')') + " }}")));
  EXPECT_TRUE(IsError(Rendered("{{ " + std::string(5000, '-') + "1 }}")));
  std::string ifs;
  for (int i = 0; i < 5000; ++i) ifs += "{% if 1 %}";
  EXPECT_TRUE(IsError(Rendered(ifs)));
  const std::string grow = "{% set ns = namespace(v=[1]) %}{% for i in range(5000) %}";
  EXPECT_TRUE(IsError(Rendered(grow + "{% set ns.v = [ns.v] %}{% endfor %}")));
  EXPECT_TRUE(
      IsError(Rendered(grow + "{% set ns.v = [ns.v, ns.v] %}{% if i == 60 %}"
                              "{% break %}{% endif %}{% endfor %}{{ ns.v == [ns.v] }}{{ ns.v }}",
                       "{}", {.max_output_bytes = 1 << 16, .max_work = 1000000})));
  EXPECT_TRUE(IsError(
      Rendered(grow + "{% for x in [ns.v] %}{% set ns.v = loop %}{% endfor %}{% endfor %}")));
}

TEST(ChatTemplate, StrftimeNowShowsTheGivenTime) {
  // The third day of 1970: the year is the same in every time zone.
  const std::string text = Rendered("{{ strftime_now('%Y') }}", "{}", {.now = 200'000});
  EXPECT_EQ(text, "1970");
  EXPECT_TRUE(IsError(Rendered("{{ strftime_now('%9999999999d') }}")));
}

}  // namespace
}  // namespace foretoken
