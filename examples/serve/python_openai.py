#!/usr/bin/env python3
"""Requests to `foretoken serve` with OpenAI's client, one of each kind.

usage: pip install openai
       [BASE_URL=http://127.0.0.1:8080/v1] [FORETOKEN_API_KEY=...] examples/serve/python_openai.py
"""
import json
import os
import re

import openai

client = openai.OpenAI(
    base_url=os.environ.get("BASE_URL", "http://127.0.0.1:8080/v1"),
    api_key=os.environ.get("FORETOKEN_API_KEY", "none"),
)
MODEL = client.models.list().data[0].id  # the server accepts any name for its model
SAY = {"model": MODEL, "temperature": 0, "max_tokens": 60}


def user(text):
    return {"role": "user", "content": text}


def title(text):
    print(f"\n== {text}")


def question():
    title("a question")
    answer = client.chat.completions.create(messages=[user("Why is the sky blue?")], **SAY)
    print(answer.choices[0].message.content)
    print(answer.usage)


def stream():
    title("a stream")
    chunks = client.chat.completions.create(
        messages=[user("Count from one to five.")],
        stream=True,
        stream_options={"include_usage": True},
        **SAY,
    )
    for chunk in chunks:
        for choice in chunk.choices:
            print(choice.delta.content or "", end="", flush=True)
        if chunk.usage:
            print(f"\n{chunk.usage.completion_tokens} tokens")


def seeds():
    title("equal seeds give equal answers")
    settings = {**SAY, "temperature": 1, "seed": 7}
    texts = [
        client.chat.completions.create(messages=[user("Invent a name for a cat.")], **settings)
        .choices[0]
        .message.content
        for _ in range(2)
    ]
    print(texts[0], "|", "equal" if texts[0] == texts[1] else "DIFFERENT")


def schema():
    title("JSON that follows a schema")
    answer = client.chat.completions.create(
        messages=[user("Name a colour and a number, as JSON.")],
        response_format={
            "type": "json_schema",
            "json_schema": {
                "name": "pair",
                "schema": {
                    "type": "object",
                    "properties": {
                        "colour": {"type": "string", "maxLength": 20},
                        "number": {"type": "integer"},
                    },
                    "required": ["colour", "number"],
                    "additionalProperties": False,
                },
            },
        },
        **SAY,
    )
    choice = answer.choices[0]
    if choice.finish_reason == "length":
        print("cut by max_tokens:", choice.message.content)
    else:
        print(json.loads(choice.message.content))


WEATHER = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "The weather in a city.",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string", "maxLength": 40}},
            "required": ["city"],
        },
    },
}


def weather(city):
    return {"city": city, "sky": "clear", "celsius": 4}


def tools():
    title("a tool call and its result")
    messages = [user("What is the weather in Oslo?")]
    try:
        answer = client.chat.completions.create(
            messages=messages, tools=[WEATHER], tool_choice="required", **SAY
        )
    except openai.BadRequestError as error:  # code unsupported_value: its chat template has no tools
        print("this model has no tools:", error.body["message"])
        return
    message = answer.choices[0].message
    messages.append(message.model_dump(exclude_none=True))
    for call in message.tool_calls or []:
        print("calls", call.function.name, call.function.arguments)
        result = weather(**json.loads(call.function.arguments))
        messages.append({"role": "tool", "tool_call_id": call.id, "content": json.dumps(result)})
    answer = client.chat.completions.create(messages=messages, tools=[WEATHER], **SAY)
    print(answer.choices[0].message.content or "another tool call, as small models may make")


def prediction():
    title("a prediction")
    before = "n = 0\nfor line in lines:\n    n = n + 1\nprint(n)"
    after = re.sub(r"\bn\b", "count", before)
    answer = client.chat.completions.create(
        messages=[user(f"Rename the variable n to count and write nothing else:\n{before}")],
        prediction={"type": "content", "content": after},
        **SAY,
    )
    print(answer.choices[0].message.content)
    details = answer.usage.completion_tokens_details
    print("of the prediction:", details.accepted_prediction_tokens, "tokens accepted,",
          details.rejected_prediction_tokens, "rejected")


def speculation():
    title("what speculation did")
    answer = client.chat.completions.create(
        messages=[user("Repeat after me: one two three, one two three, one two three.")],
        extra_body={"speculation_metrics": "summary", "cycles": True},
        **SAY,
    )
    block = answer.model_extra["metrics"]["speculative_decoding"]
    if block is None:
        print("nothing was drafted")
    else:
        print(f"{block['mean_acceptance_length']:.2f} tokens a pass,",
              f"{block['num_accepted_draft_tokens']} of {block['num_draft_tokens']} guesses accepted")
    print(answer.model_extra["timings"])
    text, begin = answer.choices[0].message.content, 0
    for cycle in answer.choices[0].model_extra.get("cycles", []):
        end = begin + cycle["characters"]
        print(f"  {cycle['accepted']} accepted: {text[begin:end]!r}")
        begin = end


if __name__ == "__main__":
    question()
    stream()
    seeds()
    schema()
    tools()
    prediction()
    speculation()
