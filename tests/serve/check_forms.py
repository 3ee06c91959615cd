"""Constrained answers: JSON schemas, JSON objects, grammars, tools."""
import json
import re

import jsonschema

from context import joined
from results import Skip, Suite, same, that

SUITE = Suite()
check = SUITE.check

SCHEMA = {
    "type": "object", "required": ["name", "kind", "count", "tags"], "additionalProperties": False, "properties": {
        "name": {"type": "string", "minLength": 1, "maxLength": 12}, "kind": {"enum": ["tool", "fruit", "animal"]},
        "count": {"type": "integer", "minimum": 0, "maximum": 999}, "sold": {"type": "boolean"},
        "tags": {"type": "array", "maxItems": 2, "items": {"type": "string", "maxLength": 6}}
    }
}
ASK = "Describe an apple as JSON with its name, kind, count and tags."


def json_format(schema, **more):
    return {"type": "json_schema", "json_schema": {"name": "thing", "schema": schema, **more}}


def meets(text, schema):
    found = json.loads(text)
    jsonschema.validate(found, schema)
    return found


@check("forms: json_schema")
def schema(c):
    for sampling in ({"temperature": 0}, {"temperature": 1, "seed": 4}, {"temperature": 1, "seed": 5}):
        answer = c.chat(ASK, max_tokens=200, response_format=json_format(SCHEMA, strict=True), **sampling)
        (choice, ) = answer.choices
        meets(choice.message.content, SCHEMA)
        same(choice.finish_reason, "stop", "finish_reason")
        for drafter in ("none", *c.drafters) if "seed" not in sampling else ("none", ):
            other = c.server.text(ASK, max_tokens=200, response_format=json_format(SCHEMA), drafter=drafter, **sampling)
            same(other, choice.message.content, f"the text with drafter {drafter}")
        chunks = c.stream_chat(ASK, max_tokens=200, response_format=json_format(SCHEMA), **sampling)
        same(joined(chunks), choice.message.content, "the text of a stream")
    same(c.server.text(ASK, max_tokens=200, temperature=0, json_schema=SCHEMA),
         c.server.text(ASK, max_tokens=200, temperature=0, response_format=json_format(SCHEMA)),
         "llama.cpp's field json_schema")
    of_object = {"type": "json_object", "schema": SCHEMA}
    meets(c.server.text(ASK, max_tokens=200, temperature=0, response_format=of_object), SCHEMA)
    text = c.complete("An apple as JSON: ", max_tokens=200, temperature=0,
                      extra_body={"response_format": json_format(SCHEMA)})
    meets(text.choices[0].text, SCHEMA)


@check("forms: references, alternatives, patterns and formats in a schema")
def rich_schema(c):
    of_parts = {
        "type": "object", "required": ["day", "where", "next"], "properties": {
            "day": {"type": "string", "format": "date"},
            "where": {"anyOf": [{"type": "string", "pattern": "^[A-Z][a-z]{2,8}$"},
                                {"type": "null"}]}, "next": {"$ref": "#/$defs/step"}
        }, "$defs": {
            "step": {
                "type": "object", "required": ["id"],
                "properties": {"id": {"type": "integer", "minimum": 1, "maximum": 9}, "then": {"const": "end"}}
            }
        }
    }
    found = meets(c.server.text("Name a day and a place.", max_tokens=200, temperature=0, json_schema=of_parts),
                  of_parts)
    that(re.fullmatch(r"\d{4}-\d\d-\d\d", found["day"]), f"day {found['day']}")


@check("forms: json_object")
def json_object(c):
    answer = c.chat("Answer with a JSON object that is empty.", max_tokens=96, temperature=0,
                    response_format={"type": "json_object"})
    (choice, ) = answer.choices
    that(choice.message.content.startswith("{"), f"the answer begins with {choice.message.content[:20]!r}")
    if choice.finish_reason == "length":
        return "cut at max_tokens"
    that(isinstance(json.loads(choice.message.content), dict), "the answer is no object")


@check("forms: grammar")
def grammar(c):
    form = 'root ::= ("yes" | "no") ", " [0-9]{3} ("." | "!")'
    for sampling in ({"temperature": 0}, {"temperature": 1.5, "seed": 1}, {"temperature": 1.5, "seed": 2}):
        text = c.server.text("Is water wet?", max_tokens=40, grammar=form, **sampling)
        that(re.fullmatch(r"(yes|no), [0-9]{3}[.!]", text), f"the answer {text!r} does not match")
        same(c.server.text("Is water wet?", max_tokens=40, grammar=form, drafter="none", **sampling), text,
             "without a drafter")
    same(c.server.text("Is water wet?", max_tokens=8, temperature=0, grammar=""),
         c.server.text("Is water wet?", max_tokens=8, temperature=0), "the answer with an empty grammar, which is none")
    answer = c.server.post("/v1/completions",
                           {"prompt": "Water is", "grammar": 'root ::= " wet"', "max_tokens": 9}).good()
    same((answer["choices"][0]["text"], answer["choices"][0]["finish_reason"]), (" wet", "stop"), "a completion's text")
    short = c.server.chat("Count.", max_tokens=3, temperature=0,
                          grammar='root ::= "0123456789012345678901234567890123456789"')
    same(short["choices"][0]["finish_reason"], "length", "the end of an answer that max_tokens cuts")


# Tools.

WEATHER = {
    "type": "function", "function": {
        "name": "get_weather", "description": "The weather of a city", "parameters": {
            "type": "object", "required": ["city", "unit"], "additionalProperties": False,
            "properties": {"city": {"type": "string", "minLength": 1, "maxLength": 12}, "unit": {"enum": ["C", "F"]}}
        }
    }
}
CLOCK = {
    "type": "function", "function": {
        "name": "get_time", "parameters": {
            "type": "object", "required": ["zone"],
            "properties": {"zone": {"type": "integer", "minimum": -12, "maximum": 12}}
        }
    }
}
TOOLS = [WEATHER, CLOCK]
BY_NAME = {tool["function"]["name"]: tool["function"]["parameters"] for tool in TOOLS}
SUNNY = "What is the weather in Paris, in C?"


def need_tools(c):
    if not c.has_tools():
        raise Skip("the model's template has no tools")


def check_calls(calls):
    that(calls, "no call")
    that(len({call["id"] for call in calls}) == len(calls), "two calls have one id")
    for call in calls:
        same(call["type"], "function", "type of a call")
        that(call["id"], "a call without an id")
        jsonschema.validate(json.loads(call["function"]["arguments"]), BY_NAME[call["function"]["name"]])


def collect(chunks):
    """The tool calls of a stream, assembled from their deltas."""
    calls = {}
    for delta in (choice["delta"] for chunk in chunks for choice in chunk["choices"]):
        for part in delta.get("tool_calls") or []:
            if part["index"] not in calls:
                calls[part["index"]] = {
                    "id": part["id"], "type": part["type"],
                    "function": {"name": part["function"]["name"], "arguments": ""}
                }
            calls[part["index"]]["function"]["arguments"] += part["function"]["arguments"]
    return [calls[index] for index in sorted(calls)]


def without_ids(calls):
    return [call["function"] for call in calls]


@check("tools: required and named calls")
def forced(c):
    need_tools(c)
    named = {"type": "function", "function": {"name": "get_time"}}
    for choice in ("required", named):
        for sampling in ({"temperature": 0}, {"temperature": 1, "seed": 3}):
            fields = {
                "tools": TOOLS, "tool_choice": choice, "parallel_tool_calls": False, "max_tokens": 200, **sampling
            }
            answer = c.chat(SUNNY, **fields).model_dump()["choices"][0]
            calls = answer["message"]["tool_calls"]
            check_calls(calls)
            same(len(calls), 1, "calls without parallel_tool_calls")
            same(answer["finish_reason"], "tool_calls", "finish_reason")
            same(answer["message"]["content"], None, "content beside a forced call")
            if choice is named:
                same(calls[0]["function"]["name"], "get_time", "the name")
            chunks = c.stream_chat(SUNNY, **fields)
            same(without_ids(collect(chunks)), without_ids(calls), "the calls of a stream")
            same(chunks[-1]["choices"][0]["finish_reason"], "tool_calls", "finish_reason of a stream")
            plain = c.server.chat(SUNNY, drafter="none", **fields)["choices"][0]["message"]["tool_calls"]
            same(without_ids(plain), without_ids(calls), "the calls without a drafter")


@check("tools: argument deltas by the openai client")
def deltas(c):
    need_tools(c)
    stream = c.chat(SUNNY, tools=TOOLS, tool_choice="required", parallel_tool_calls=False, max_tokens=200,
                    temperature=0, stream=True)
    chunks = [chunk.model_dump() for chunk in stream]
    check_calls(collect(chunks))
    parts = [d for chunk in chunks for choice in chunk["choices"] for d in choice["delta"].get("tool_calls") or []]
    that(len(parts) > 1, "the call came in one piece")


@check("tools: auto, and none")
def unforced(c):
    need_tools(c)
    answer = c.chat(SUNNY, tools=TOOLS, max_tokens=64, temperature=0).model_dump()["choices"][0]
    calls = answer["message"]["tool_calls"]
    if calls:
        same(answer["finish_reason"], "tool_calls", "finish_reason")
    chunks = c.stream_chat(SUNNY, tools=TOOLS, max_tokens=64, temperature=0)
    same(joined(chunks), answer["message"]["content"] or "", "content of a stream")
    same(without_ids(collect(chunks)), without_ids(calls or []), "calls of a stream")
    none = c.server.chat(SUNNY, tools=TOOLS, tool_choice="none", max_tokens=24, temperature=0)["choices"][0]
    that("tool_calls" not in none["message"], "a call with tool_choice none")
    form = c.server.text(SUNNY, tools=TOOLS, tool_choice="none", max_tokens=60, temperature=0,
                         grammar='root ::= "sunny"')
    same(form, "sunny", "the answer with a grammar beside tools")
    return f"auto: {len(calls or [])} calls"


@check("tools: results go back")
def results(c):
    need_tools(c)
    call = {
        "id": "call_1", "type": "function",
        "function": {"name": "get_weather", "arguments": '{"city": "Paris", "unit": "C"}'}
    }
    messages = [{"role": "user", "content": SUNNY}, {"role": "assistant", "content": None, "tool_calls": [call]},
                {"role": "tool", "tool_call_id": "call_1", "content": "21 degrees"}]
    answer = c.client.chat.completions.create(model="m", messages=messages, tools=TOOLS, max_tokens=16, temperature=0)
    that(answer.choices[0].finish_reason in ("stop", "length", "tool_calls"), f"finish_reason of {answer.choices[0]}")
    prompt = c.server.post("/apply-template", {"messages": messages, "tools": TOOLS}).good()["prompt"]
    for part in ("get_weather", "Paris", "21 degrees", "get_time"):
        that(part in prompt, f"the prompt lacks {part!r}")


@check("tools: a template without them")
def without_tools(c):
    if c.has_tools():
        raise Skip("the model's template has tools")
    reply = c.post_chat(SUNNY, tools=TOOLS, tool_choice="required", max_tokens=8)
    same((reply.status, reply.error()["param"]), (400, "tools"), "status and param of a call that must be made")
