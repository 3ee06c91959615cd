#include "apps/serve/serve_args.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "apps/command_line.h"
#include "apps/option_group.h"
#include "apps/runtime_args.h"
#include "base/input_file.h"

namespace foretoken {
namespace {

constexpr char kServeFooter[] =
    "The server speaks the OpenAI API: point a client at http://HOST:PORT/v1. A chat page is\n"
    "at http://HOST:PORT/, and /openapi.json describes the endpoints.\n"
    "SIGTERM or Ctrl-C stops the server after the running answers have ended; a second one\n"
    "stops it at once.\n"
    "\n"
    "Examples:\n"
    "  foretoken serve -m model.gguf\n"
    "  foretoken serve -m model.gguf --parallel 8 -c 8192 --memory 4096\n"
    "  foretoken serve -m model.gguf --host 0.0.0.0 --api-key-file keys.txt\n"
    "  foretoken serve -m model.gguf --draft-model small.gguf --also-drafter pld\n"
    "\n"
    "Exit status: 0 stopped by a signal, 1 failed, 2 bad usage.";

// Names by SpeculationDetail.
constexpr std::string_view kDetailNames[] = {"none", "summary", "detailed"};

constexpr int kMostMib = 1 << 24;
constexpr double kMostSeconds = 1e9;
// Workers in addition to the requests that may wait for the model, so that requests answered
// immediately always find one.
constexpr int kReserveWorkers = 16;

CLI::Validator WithinSeconds() { return CLI::Range(0.0, kMostSeconds).description(""); }

void DeclareConnections(CLI::App& app, ServeArgs* s) {
  OptionGroup group(app, "Connections");
  group
      .Add("--host", s->host, "HOST",
           "the address to listen on (127.0.0.1: this machine only; 0.0.0.0: all interfaces)")
      ->envname("FORETOKEN_HOST");
  group.Add("--port", s->port, "PORT", "the port (8080); 0 = any free one, which is printed")
      ->check(Within(0, 65'535))
      ->envname("FORETOKEN_PORT");
  group
      .AddList("--api-key", s->api_keys, "KEY",
               "a key that clients must send (Authorization: Bearer KEY); repeatable. Other users "
               "see it in the process list; --api-key-file and the environment variable are safer")
      ->envname("FORETOKEN_API_KEY");
  group.Add("--api-key-file", s->api_key_file, "FILE", "a file of keys, one per line");
  group.AddList("--cors-origin", s->cors_origins, "ORIGIN",
                "let pages of this origin (https://chat.example.com) use the server; repeatable; "
                "'*' = any origin. By default, only the server's own page may");
  group.AddList("--allowed-host", s->allowed_hosts, "NAME",
                "a host name that clients may use for the server, besides localhost and --host; "
                "repeatable; '*' = any");
  group.Add("--max-body", s->max_body_mib, "MIB", "largest request body, in MiB (32)")
      ->check(Within(1, kMostMib));
  group
      .Add("--drain-seconds", s->drain_seconds, "S",
           "seconds that running answers may still take once the server is stopping (30)")
      ->check(WithinSeconds());
  group.AddFlag("--log", s->logs,
                "log a line for each request to standard error, without its contents");
}

void DeclareBatch(CLI::App& app, ServeArgs* s) {
  OptionGroup group(app, "Concurrency");
  group.Add("--parallel", s->parallel, "N", "answers generated at the same time (4)")
      ->check(Within(1, 4096));
  group
      .Add("--queue", s->queue, "N",
           "answers that may wait in the queue (64); further requests are refused with status 429")
      ->check(Within(1, 65'536));
  group
      .Add("-c,--context", s->context, "N",
           "maximum sequence length, including the prompt (default, and 0: the model's)")
      ->check(Within(0, 1 << 30));
  group
      .Add("--memory", s->memory_mib, "MIB",
           "memory for the caches of all sequences together, in MiB (2048)")
      ->check(Within(1, kMostMib));
  group
      .Add("--rows", s->rows, "N",
           "maximum rows per pass (128; 0: the model's limit); with fewer rows, running answers "
           "pause less while a prompt is processed, and prompts take longer")
      ->check(Within(0, 1 << 20));
  group.AddFlag("--no-cache-prompt", s->forgets_prompts,
                "do not cache prompts for later requests with the same prefix");
}

void DeclareServedAnswers(CLI::App& app, ServeArgs* s) {
  OptionGroup group(app, "Answers");
  group.Add("--alias", s->alias, "NAME", "the model's name in answers (default: the file's)");
  group
      .Add("--max-tokens", s->max_tokens, "N",
           "maximum tokens per answer, whatever the request says (default, and 0: what fits in the "
           "context)")
      ->check(Within(0, 1 << 30));
  group
      .Add("--timeout", s->timeout_seconds, "S",
           "seconds after which an answer is cut off, with finish_reason length (0: never)")
      ->check(WithinSeconds());
  OfferValues(group.AddList("--also-drafter", s->also, "NAME",
                            "a drafter that requests may select (\"drafter\") besides --drafter "
                            "and none; repeatable"),
              DrafterNames());
  const std::vector<std::string> details(std::begin(kDetailNames), std::end(kDetailNames));
  group
      .Add("--speculative-metrics,--per-request-spec-decode-metrics", s->speculative_metrics,
           "none|summary|detailed", "speculation metrics that answers include (summary)")
      ->check(CLI::IsMember(details).description(""));
}

Result<std::vector<std::string>> ReadKeys(const std::string& path) {
  FT_ASSIGN_OR_RETURN(const std::string text, ReadText(path));
  std::vector<std::string> keys;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    std::string line = text.substr(begin, end - begin);
    if (line.ends_with('\r')) line.pop_back();
    if (!line.empty()) keys.push_back(std::move(line));
    begin = end + 1;
  }
  if (keys.empty()) return Error{path + ": contains no key"};
  return keys;
}

// Adapts the help of sampling options to the server.
void NameSamplingDefaults(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    if (option->get_group().starts_with("Sampling")) {
      option->group("Sampling (defaults for requests)");
    }
  }
  app.remove_option(app.get_option("--seed"));  // requests without a seed get a random one
  app.get_option("--temp")->description("temperature (1, as in the OpenAI API); 0 = greedy");
}

}  // namespace

void DeclareServe(CLI::App& app, ServeArgs* args) {
  AddModelArgs(app, &args->model);
  AddCacheArgs(app, &args->cache_type);
  app.get_option("--model")->required();
  DeclareConnections(app, args);
  DeclareBatch(app, args);
  DeclareServedAnswers(app, args);
  AddSamplingArgs(app, &args->sampling);
  AddDraftArgs(app, &args->draft);
  NameSamplingDefaults(app);
  app.footer(kServeFooter);
}

Status CheckServe(const ServeArgs& args) {
  FT_RETURN_IF_ERROR(Validate(args.sampling.params));
  FT_RETURN_IF_ERROR(CheckDraftNames(args.draft));
  for (const std::string& name : args.also) {
    FT_RETURN_IF_ERROR(CheckDraftNames({.drafter = name}));
  }
  const auto guard = Guard::Create({.api_keys = args.api_keys});
  return guard.ok() ? Status() : guard.error();
}

Result<HttpServerOptions> HttpOptionsOf(const ServeArgs& args) {
  HttpServerOptions options{
      .host = args.host,
      .port = args.port,
      .workers = args.parallel + args.queue + kReserveWorkers,
      .guard = {.api_keys = args.api_keys,
                .allowed_hosts = args.allowed_hosts,
                .cors_origins = args.cors_origins},
      .logs = args.logs,
  };
  options.limits.body_bytes = static_cast<size_t>(args.max_body_mib) << 20;
  if (!args.api_key_file.empty()) {
    FT_ASSIGN_OR_RETURN(const std::vector<std::string> keys, ReadKeys(args.api_key_file));
    auto& all = options.guard.api_keys;
    all.insert(all.end(), keys.begin(), keys.end());
  }
  return options;
}

Result<openai::ServiceOptions> ServiceOptionsOf(const ServeArgs& args, const ModelFile& file) {
  openai::ServiceOptions options{
      .model_name = args.alias,
      .scheduler = {.slots = args.parallel,
                    .rows = args.rows,
                    .queue = args.queue,
                    .memory = static_cast<size_t>(args.memory_mib) << 20,
                    .keeps_texts = !args.forgets_prompts,
                    .context = args.context,
                    .cache_type = args.cache_type},
      .also = args.also,
      .most_new_tokens = args.max_tokens,
      .request_seconds = args.timeout_seconds,
  };
  SamplingArgs sampling = args.sampling;
  if (!sampling.has_temperature) sampling.params.temperature = options.sampling.temperature;
  FT_ASSIGN_OR_RETURN(options.sampling, ResolveSampling(sampling, file));
  const auto detail = std::ranges::find(kDetailNames, args.speculative_metrics);
  options.detail = static_cast<openai::SpeculationDetail>(detail - std::begin(kDetailNames));
  options.body.bytes = static_cast<size_t>(args.max_body_mib) << 20;
  return options;
}

}  // namespace foretoken
