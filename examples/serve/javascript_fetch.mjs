// Requests to `foretoken serve` with fetch, one of each kind. Runs in Node 18 or later, Deno and Bun, and in a web page
// if the server was started with --cors-origin and the page's origin.
// usage: [BASE_URL=http://127.0.0.1:8080/v1] [FORETOKEN_API_KEY=...] node examples/serve/javascript_fetch.mjs
const environment = globalThis.process?.env ?? {};
const base = (environment.BASE_URL ?? "http://127.0.0.1:8080/v1").replace(/(\/v1)?\/?$/, "");
const key = environment.FORETOKEN_API_KEY ?? "none";

class ApiError extends Error {
  constructor(status, { message, type, param, code }) {
    super(message);
    Object.assign(this, { status, type, param, code });
  }
}

async function post(path, body) {
  const response = await fetch(base + path, {
    method: "POST",
    headers: { "Content-Type": "application/json", Authorization: `Bearer ${key}` },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new ApiError(response.status, (await response.json()).error);
  return response;
}

async function chat(body) {
  return (await post("/v1/chat/completions", { temperature: 0, max_tokens: 60, ...body })).json();
}

// Yields the objects of a stream. Leaving the loop early closes the connection, which stops the server's answer.
async function* chatStream(body) {
  const response = await post("/v1/chat/completions", { temperature: 0, max_tokens: 60, ...body, stream: true });
  const decoder = new TextDecoder();
  let buffer = "";
  for await (const bytes of response.body) {
    buffer += decoder.decode(bytes, { stream: true });
    for (let end; (end = buffer.indexOf("\n\n")) >= 0; buffer = buffer.slice(end + 2)) {
      const event = buffer.slice(0, end);
      if (!event.startsWith("data: ")) continue; // a keep-alive comment
      if (event === "data: [DONE]") return;
      const object = JSON.parse(event.slice("data: ".length));
      if (object.error) throw new ApiError(200, object.error); // an error after the stream began
      yield object;
    }
  }
}

const user = (content) => ({ role: "user", content });
const title = (text) => console.log(`\n== ${text}`);

title("a question");
const answer = await chat({ messages: [user("Why is the sky blue?")] });
console.log(answer.choices[0].message.content, answer.usage);

title("a stream");
let text = "";
for await (const chunk of chatStream({
  messages: [user("Count from one to five.")],
  stream_options: { include_usage: true },
})) {
  text += chunk.choices[0]?.delta.content ?? "";
  if (chunk.usage) console.log(text, `(${chunk.usage.completion_tokens} tokens)`);
}

title("JSON that follows a schema");
const pair = await chat({
  messages: [user("Name a colour and a number, as JSON.")],
  response_format: {
    type: "json_schema",
    json_schema: {
      name: "pair",
      schema: {
        type: "object",
        properties: { colour: { type: "string", maxLength: 20 }, number: { type: "integer" } },
        required: ["colour", "number"],
        additionalProperties: false,
      },
    },
  },
});
console.log(pair.choices[0].message.content);

title("a tool call and its result");
const tools = [
  {
    type: "function",
    function: {
      name: "weather",
      description: "The weather in a city.",
      parameters: {
        type: "object",
        properties: { city: { type: "string", maxLength: 40 } },
        required: ["city"],
      },
    },
  },
];
try {
  const messages = [user("What is the weather in Oslo?")];
  const { message } = (await chat({ messages, tools, tool_choice: "required" })).choices[0];
  messages.push(message);
  for (const call of message.tool_calls ?? []) {
    console.log("calls", call.function.name, call.function.arguments);
    const { city } = JSON.parse(call.function.arguments);
    const content = JSON.stringify({ city, sky: "clear", celsius: 4 });
    messages.push({ role: "tool", tool_call_id: call.id, content });
  }
  const last = await chat({ messages, tools });
  console.log(last.choices[0].message.content ?? "another tool call, as small models may make");
} catch (error) {
  if (error.code !== "unsupported_value") throw error;
  console.log("this model has no tools:", error.message);
}

title("a prediction");
const before = "n = 0\nfor line in lines:\n    n = n + 1\nprint(n)";
const after = before.replace(/\bn\b/g, "count");
const renamed = await chat({
  messages: [user(`Rename the variable n to count and write nothing else:\n${before}`)],
  prediction: { type: "content", content: after },
});
console.log(renamed.choices[0].message.content, renamed.usage.completion_tokens_details);

title("what speculation did");
const told = await chat({
  messages: [user("Repeat after me: one two three, one two three, one two three.")],
  speculation_metrics: "summary",
  cycles: true,
});
console.log(told.metrics.speculative_decoding, told.timings);
const characters = [...told.choices[0].message.content]; // code points, the unit of cycle.characters
for (const cycle of told.choices[0].cycles ?? []) {
  console.log(`  ${cycle.accepted} accepted: ${JSON.stringify(characters.splice(0, cycle.characters).join(""))}`);
}
