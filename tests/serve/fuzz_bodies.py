"""Seeded bad request bodies: malformed JSON or UTF-8, wrong types, extreme numbers, schemas and grammars that explode.

A kind is a function of (rng) that returns a path and a body: bytes, or a value to be written as JSON. Bodies of the
kinds in MAY_BE_GOOD may be valid: by chance, or because they are merely large, deep or slow.
"""
import json

CHAT, TEXT = "/v1/chat/completions", "/v1/completions"
PATHS = [CHAT, TEXT, "/tokenize", "/detokenize", "/apply-template"]
KINDS, MAY_BE_GOOD = [], set()


def kind(weight, may_be_good=False):
    def add(function):
        KINDS.append((weight, function))
        if may_be_good:
            MAY_BE_GOOD.add(function.__name__)
        return function

    return add


def good(rng, path):
    """A valid body that is small and quick to answer."""
    if path == "/tokenize":
        return {"content": "Hello"}
    if path == "/detokenize":
        return {"tokens": [1, 2, 3]}
    body = {"max_tokens": rng.choice([1, 2]), "stream": rng.random() < 0.3}
    if path == TEXT:
        return {"prompt": "Once upon a time", **body}
    return {"messages": [{"role": "user", "content": "Hello"}], **body}


def either(rng):
    path = rng.choice([CHAT, TEXT])
    return path, good(rng, path)


# Malformed JSON.


@kind(6)
def truncated(rng):
    path = rng.choice(PATHS)
    text = json.dumps(good(rng, path)).encode()
    return path, text[:rng.randrange(len(text))]


@kind(4)
def malformed(rng):
    path = rng.choice(PATHS)
    text = json.dumps(good(rng, path)).encode()
    at = rng.randrange(1, len(text))
    return path, rng.choice([
        text + b"}", text[:-1] + b",}",
        text.replace(b'"', b"'"),
        text.replace(b":", b"=", 1), b"/* x */" + text, b"\xef\xbb" + text, text[:-1] + b', "x": NaN}',
        text[:-1] + b', "x": Infinity}', text[:-1] + b', "x": 01}', text[:-1] + b', "x": +1}',
        text[:-1] + b', "x": .5}', text[:-1] + b', "x": 1.}', text[:-1] + b', "x": 1e}', text[:-1] + b', "x": 0x1}',
        text[:-1] + b', "x": tru}', text[:-1] + b', "x": "\\q"}', text[:-1] + b', "x": "\\u12"}',
        text[:-1] + b', "x": "\n"}', text[:-1] + b', "x": "\x00"}', text[:-1] + b', "a": 1, "a": 2}', text + text,
        b"[" + text + b"]", text[:at] + b"\x00" + text[at:], text + b"\x00x", b"", b" ", b"null", b"7",
        text[:-1] + b', "x": 1e999}',
        text[:-1] + b', "x": -1e999}', text[:-1] + b', "x": ' + b"9" * 5000 + b"}"
    ])


@kind(4, may_be_good=True)
def flipped(rng):
    """Replaces one, two or five bytes."""
    path = rng.choice(PATHS)
    text = bytearray(json.dumps(good(rng, path)).encode())
    for _ in range(rng.choice([1, 1, 2, 5])):
        text[rng.randrange(len(text))] = rng.randrange(256)
    return path, bytes(text)


@kind(4)
def not_utf8(rng):
    path = rng.choice(PATHS)
    text = json.dumps(good(rng, path)).encode()
    bad = rng.choice([
        b"\xff", b"\xc0\xaf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe2\x82", b"\x80", b"\\ud800", b"\\udc00\\ud800",
        b"\xf8\x88\x80\x80\x80"
    ])
    return path, text[:-1] + rng.choice(
        [b', "x": "' + bad + b'"}', b', "' + bad + b'": 1}', b', "x": ["a", "' + bad + b'b"]}'])


@kind(2)
def deep(rng):
    path = rng.choice(PATHS)
    depth = rng.choice([65, 100, 1000, 100_000, 1_000_000])
    inner = rng.choice([
        b"[" * depth + b"]" * depth, b"[" * depth, b'{"a":' * depth + b"1" + b"}" * depth, b'{"a":[' * (depth // 2 + 32)
    ])
    return path, json.dumps(good(rng, path)).encode()[:-1] + b', "x": ' + inner + b"}"


@kind(1)
def many_values(rng):
    path = rng.choice(PATHS)
    start = json.dumps(good(rng, path)).encode()[:-1]
    return path, start + rng.choice([
        b', "x": [' + b"0," * (1 << 20) + b"0]}", b', "x": {' + b",".join(b'"%d":0' % i for i in range(70_000)) + b"}}",
        b', "x": [' + b"{}," * (1 << 20) + b"0]}"
    ])


# Valid JSON with wrong values.

WILD = [
    0, -1, -2, 1 << 31, -(1 << 31) - 1, 1 << 53, 1 << 63, -(1 << 63), 1 << 64, 10 ** 30, -10 ** 300, 0.5, -0.0, 1e-320,
    1e308, -1e308, True, False, "", "x", "1", [], {}, [1], {"a": 1}, ["a"], [[]], [None], "\u0000", "\U0001f98a" * 300
]
FIELDS = [
    "messages", "prompt", "max_tokens", "max_completion_tokens", "n_predict", "n", "stop", "ignore_eos", "temperature",
    "top_p", "top_k", "min_p", "typical_p", "presence_penalty", "frequency_penalty", "repeat_penalty", "repeat_last_n",
    "logit_bias", "seed", "response_format", "json_schema", "grammar", "tools", "tool_choice", "parallel_tool_calls",
    "prediction", "chat_template_kwargs", "add_generation_prompt", "cache_prompt", "stream", "stream_options",
    "logprobs", "top_logprobs", "user", "drafter", "cycles", "speculation_metrics", "timings_per_token", "model",
    "content", "tokens", "add_special", "parse_special", "with_pieces"
]


@kind(16, may_be_good=True)
def wild_fields(rng):
    """Sets one to three fields to values that are mostly wrong."""
    path = rng.choice(PATHS)
    body = good(rng, path)
    for _ in range(rng.choice([1, 1, 2, 3])):
        name = rng.choice(FIELDS)
        body[name] = rng.choice(WILD)
        if name in ("max_tokens", "max_completion_tokens", "n_predict") and body[name] in (-1, 1 << 31):
            del body[name]  # no limit: an answer as long as the context
    return path, body


@kind(6)
def out_of_range(rng):
    path, body = either(rng)
    name, value = rng.choice([("n", rng.choice([0, -1, 17, 10 ** 6, 10 ** 9, 1 << 31, 1 << 63, 1.5, "1"])),
                              ("max_tokens", rng.choice([0, -2, 1 << 31, 1e308, "9", 1.5])),
                              ("temperature", rng.choice([-1, 101, 1e308, "0"])),
                              ("top_p", rng.choice([-0.1, 1.1, 1e300])), ("top_k", rng.choice([-2, 1 << 31, 1.5])),
                              ("min_p", rng.choice([-0.1, 2])), ("seed", rng.choice([1 << 64, -10 ** 20, 0.5, "1"])),
                              ("presence_penalty", rng.choice([3, -3])), ("frequency_penalty", 1e9),
                              ("repeat_penalty", rng.choice([0, -1, 1e9])), ("logit_bias", {"999999999": 1}),
                              ("logit_bias", {"-1": 1}), ("logit_bias", {"1": 1e9}), ("logit_bias", {"1.5": 1}),
                              ("logit_bias", {"1": None}), ("stop", ["x"] * 65), ("stop", "x" * 257), ("stop", [[]]),
                              ("stop", [""]), ("drafter", "../../etc/passwd"), ("drafter", "x" * 100_000),
                              ("user", "x" * 100_000), ("model", "x" * 100_000)])
    body[name] = value
    return path, body


@kind(5)
def bad_messages(rng):
    nested = "x"
    for _ in range(30):
        nested = [{"type": "text", "text": nested}]
    user = {"role": "user"}
    wrong = [[], {}, "x", [[]], [None], [{}], [user], [{**user, "content": None}], [{"role": 5, "content": "x"}],
             [{"role": "root", "content": "x"}], [{**user, "content": {"a": 1}}], [{**user, "content": nested}],
             [{**user, "content": [{"type": "image_url"}]}], [{**user, "content": "x", "name": "y" * 1000}],
             [{"role": "assistant", "tool_calls": [{}]}], [{"role": "tool", "content": []}] * 2 + [5],
             [{"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": 5}}]}]]
    too_long = [[{**user, "content": "word " * 5000}], [{**user, "content": "x"}] * 20_000]
    if rng.random() < 0.2:
        return CHAT, {"max_tokens": 1, "messages": rng.choice(too_long)}
    return rng.choice([CHAT, "/apply-template"]), {"max_tokens": 1, "messages": rng.choice(wrong)}


@kind(4)
def bad_prompts(rng):
    many = rng.choice([17, 64, 65, 1000, 50_000])
    return TEXT, {
        "max_tokens": 1, "prompt": rng.choice([[], {}, 5, True, [[]], [None], ["a", 1], [1, "a"], [-1], [1 << 31],
                                               [10 ** 300], [1.5], ["a"] * many, [[1]] * many, [1] * 100_000,
                                               "a " * 100_000, [[[1]]], [{"a": 1}], [0] * 3000 + [-1]])
    }


@kind(4)
def bad_tools(rng):
    path, body = CHAT, good(rng, CHAT)
    tool = {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}
    body["tools"] = rng.choice([{}, "x", [5], [{}], [{"type": "function"}], [{"type": "retrieval"}],
                                [{"type": "function", "function": {"name": ""}}],
                                [{"type": "function", "function": {"name": "a b"}}],
                                [{"type": "function", "function": {"name": "x" * 65}}], [tool, tool],
                                [{"type": "function", "function": {"name": f"f{i}"}} for i in range(129)],
                                [{"type": "function", "function": {"name": "f", "parameters": []}}]])
    body["tool_choice"] = rng.choice(["auto", "required", {"type": "function", "function": {"name": "g"}}])
    return path, body


# Constraints that would take long to compile without limits.


@kind(5, may_be_good=True)
def schema_bombs(rng):
    path, body = either(rng)
    size = rng.choice([20, 30, 200, 5000])
    chain = {
        f"d{i}": {"allOf": [{"$ref": f"#/$defs/d{i + 1}"}, {"$ref": f"#/$defs/d{i + 1}"}]} for i in range(min(size, 60))
    }
    fan = {f"d{i}": {"anyOf": [{"$ref": f"#/$defs/d{i + 1}"}] * 3} for i in range(min(size, 60))}
    last = {f"d{min(size, 60)}": {"type": "string"}}
    schema = rng.choice(
        [{"$ref": "#/$defs/d0", "$defs": {**chain, **last}}, {"$ref": "#/$defs/d0", "$defs": {**fan, **last}},
         {"$ref": "#"}, {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}},
         {"allOf": [{"$ref": "#"}]}, {"enum": [f"value {i}" for i in range(size * 10)]},
         {"type": "string", "maxLength": 1 << 40}, {"type": "string", "minLength": 1 << 40},
         {"type": "array",
          "minItems": 1 << 31}, {"type": "array", "maxItems": 1 << 31,
                                 "items": {"type": "array",
                                           "maxItems": 1 << 31}}, {"type": "string", "pattern": "(a+)+" * size},
         {"type": "string",
          "pattern": "(" * size + "a" + ")" * size}, {"type": "string", "pattern": "a{1,9999}{1,9999}"},
         {"type": "string", "pattern": "((a{100}){100}){100}"}, {"type": "string", "pattern": "[" + "\\d" * size + "]"},
         {"type": "string",
          "pattern": "(?=a)"}, {"type": "object", "properties": {f"p{i}": {"type": "integer"} for i in range(size)}}, {
              "type": "object",
              "properties": {f"p{i}": {"anyOf": [{"type": "integer"}, {"type": "null"}]} for i in range(size)},
              "required": [f"p{i}" for i in range(size)]
          }, {"type": "integer",
              "minimum": 10 ** 40}, {"type": "number",
                                     "exclusiveMinimum": 1e308}, {"minimum": 5, "maximum": 1,
                                                                  "type": "integer"}, {"type": ["string", "unknown"]},
         {"$ref": "file:///etc/passwd"}, {"$ref": "#/" + "a/" * size}, {"not": {"type": "string"}}, {"properties": 5},
         {"anyOf": []}, {"enum": []}, {"const": nest(rng.choice([30, 55]))},
         nest_schema(rng.choice([20, 55])), {"type": "string", "format": "uri"}])
    body[rng.choice(["json_schema"])] = schema
    if rng.random() < 0.4:
        body["response_format"] = {"type": "json_schema", "json_schema": {"schema": body.pop("json_schema")}}
    return path, body


def nest(depth):
    value = 1
    for _ in range(depth):
        value = [value]
    return value


def nest_schema(depth):
    schema = {"type": "integer"}
    for _ in range(depth // 2):
        schema = {"type": "array", "items": schema}
    return schema


@kind(6, may_be_good=True)
def grammars(rng):
    path, body = either(rng)
    size = rng.choice([50, 199, 201, 5000, 100_000])
    few = min(size, 200)
    doubling = "root ::= r0\n" + "".join(f"r{i} ::= r{i + 1} r{i + 1}\n" for i in range(few)) + f'r{few} ::= "a"\n'
    body["grammar"] = rng.choice([
        "root ::= " + "(" * size + '"a"' + ")" * size, "root ::= " + "(" * size, 'root ::= root "a" | "a"',
        'root ::= a\na ::= b\nb ::= a', "root ::= missing", "root ::= root", 'root ::= "a"{1000000000}',
        'root ::= ("a"{9999}){9999}', 'root ::= (("a"*)*)*', 'root ::= ("" | "a")*',
        "root ::= " + '"a" | ' * size + '"b"', "root ::= [" + "a-z" * size + "]", "root ::= [\\U0010FFFF-\\U00110000]",
        "root ::= [z-a]", 'root ::= "' + "x" * size, 'root ::= "\\q"', doubling, "x ::= \"a\"", "root", "root ::=",
        "::= \"a\"", "root ::= \"a\"\nroot ::= \"b\"", "#" * size, "\x00", "root ::= \"a\" " * 50,
        "root ::= ." + "*" * few, "root ::= .{0,9999}" * 3,
        "\n".join(f"r{i} ::= \"{i}\"" for i in range(size)) + "\nroot ::= r0",
        "root ::= \"" + "\\U0001F98A" * few + "\"", "x" * 262_145
    ])
    return path, body


@kind(2, may_be_good=True)
def templates(rng):
    return CHAT, {
        **good(rng, CHAT), "chat_template_kwargs": rng.choice(
            [{"messages": []}, {"bos_token": "x"}, {"eos_token": 5}, {"tools": 5}, {"add_generation_prompt": "x"},
             {"loop": 5}, {"range": 5}, {"x" * 1000: nest(50)}, {"enable_thinking": nest(30)},
             {f"k{i}": i for i in range(5000)}, [], "x", {"namespace": None}])
    }


@kind(2, may_be_good=True)
def predictions(rng):
    path, body = either(rng)
    body["prediction"] = rng.choice([
        5, {}, {"type": "content"}, {"type": "x", "content": "a"}, {"type": "content", "content": []},
        {"type": "content", "content": ""}, {"type": "content", "content": "a " * 100_000},
        {"type": "content", "content": [{"type": "image_url"}]}, {"type": "content", "content": "\u0000" * 100}
    ])
    return path, body
