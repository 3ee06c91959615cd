#!/bin/sh
# Requests to `foretoken serve` with curl, one of each kind. Needs curl; python3, if installed, indents the
# answers.
# usage: [BASE_URL=http://127.0.0.1:8080/v1] [FORETOKEN_API_KEY=...] examples/serve/curl.sh
set -eu
base=${BASE_URL:-http://127.0.0.1:8080/v1}
base=${base%/}
base=${base%/v1}
key=${FORETOKEN_API_KEY:-none}

indent() { if command -v python3 >/dev/null; then python3 -m json.tool; else cat; fi; }
# ask PATH: sends standard input as the body.
ask() {
  curl --silent --show-error --no-buffer "$base$1" -H "Authorization: Bearer $key" \
    -H "Content-Type: application/json" --data-binary @-
}
title() { printf '\n== %s\n' "$1"; }

title "is the server ready, and which model does it have"
curl --silent --show-error --fail --retry 60 --retry-delay 1 "$base/health" # 503 until the model is loaded
echo
curl --silent --show-error "$base/v1/models" -H "Authorization: Bearer $key" | indent

title "a question"
ask /v1/chat/completions <<'JSON' | indent
{
  "messages": [
    {"role": "system", "content": "Answer in one sentence."},
    {"role": "user", "content": "Why is the sky blue?"}
  ],
  "max_tokens": 60,
  "temperature": 0
}
JSON

title "a stream, with the usage at its end"
ask /v1/chat/completions <<'JSON'
{
  "messages": [{"role": "user", "content": "Count from one to five."}],
  "max_tokens": 40,
  "temperature": 0,
  "stream": true,
  "stream_options": {"include_usage": true}
}
JSON

title "JSON that follows a schema"
ask /v1/chat/completions <<'JSON' | indent
{
  "messages": [{"role": "user", "content": "Name a colour and a number, as JSON."}],
  "max_tokens": 60,
  "temperature": 0,
  "response_format": {
    "type": "json_schema",
    "json_schema": {
      "name": "pair",
      "schema": {
        "type": "object",
        "properties": {"colour": {"type": "string", "maxLength": 20}, "number": {"type": "integer"}},
        "required": ["colour", "number"],
        "additionalProperties": false
      }
    }
  }
}
JSON

title "a tool that the model must call (an error if its chat template has no tools)"
ask /v1/chat/completions <<'JSON' | indent
{
  "messages": [{"role": "user", "content": "What is the weather in Oslo?"}],
  "tools": [
    {
      "type": "function",
      "function": {
        "name": "weather",
        "description": "The weather in a city.",
        "parameters": {
          "type": "object",
          "properties": {"city": {"type": "string", "maxLength": 40}},
          "required": ["city"]
        }
      }
    }
  ],
  "tool_choice": {"type": "function", "function": {"name": "weather"}},
  "max_tokens": 100,
  "temperature": 0
}
JSON

title "the tool's result, from which the model answers"
ask /v1/chat/completions <<'JSON' | indent
{
  "messages": [
    {"role": "user", "content": "What is the weather in Oslo?"},
    {
      "role": "assistant",
      "content": null,
      "tool_calls": [
        {"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": "{\"city\": \"Oslo\"}"}}
      ]
    },
    {"role": "tool", "tool_call_id": "call_1", "content": "{\"sky\": \"clear\", \"celsius\": 4}"}
  ],
  "tools": [
    {
      "type": "function",
      "function": {
        "name": "weather",
        "description": "The weather in a city.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
      }
    }
  ],
  "max_tokens": 60,
  "temperature": 0
}
JSON

title "a prediction of the answer; see usage.completion_tokens_details"
ask /v1/chat/completions <<'JSON' | indent
{
  "messages": [
    {
      "role": "user",
      "content": "Rename the variable n to count and write nothing else:\nn = 0\nfor line in lines:\n    n = n + 1\nprint(n)"
    }
  ],
  "prediction": {
    "type": "content",
    "content": "count = 0\nfor line in lines:\n    count = count + 1\nprint(count)"
  },
  "max_tokens": 60,
  "temperature": 0
}
JSON

title "what speculation did: metrics.speculative_decoding, timings, and the cycles of each choice"
ask /v1/chat/completions <<'JSON' | indent
{
  "messages": [{"role": "user", "content": "Repeat after me: one two three, one two three, one two three."}],
  "max_tokens": 40,
  "temperature": 0,
  "speculation_metrics": "detailed",
  "cycles": true
}
JSON
