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
    "The server speaks the OpenAI API: point a client at http://HOST:PORT/v1. A page to talk with "
    "the\n"
    "model is at http://HOST:PORT/, and /openapi.json lists what there is.\n"
    "SIGTERM and Ctrl-C end the server when the answers under way have ended, a second one at "
    "once.\n"
    "\n"
    "Examples:\n"
    "  foretoken serve -m model.gguf\n"
    "  foretoken serve -m model.gguf --parallel 8 -c 8192 --memory 4096\n"
    "  foretoken serve -m model.gguf --host 0.0.0.0 --api-key-file keys.txt\n"
    "  foretoken serve -m model.gguf --draft-model small.gguf --also-drafter pld\n"
    "\n"
    "Exit status: 0 ended by a signal, 1 failed, 2 bad usage.";

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
           "the address to listen at (127.0.0.1: this machine alone; 0.0.0.0: all that reach it)")
      ->envname("FORETOKEN_HOST");
  group.Add("--port", s->port, "PORT", "the port (8080); 0 = any that is free, and printed")
      ->check(Within(0, 65'535))
      ->envname("FORETOKEN_PORT");
  group
      .AddList(
          "--api-key", s->api_keys, "KEY",
          "a key that clients must send (Authorization: Bearer KEY); repeatable. Others see it "
          "in the list of processes: --api-key-file and the variable are safer")
      ->envname("FORETOKEN_API_KEY");
  group.Add("--api-key-file", s->api_key_file, "FILE", "a file of keys, one a line");
  group.AddList(
      "--cors-origin", s->cors_origins, "ORIGIN",
      "pages of this origin (https://chat.example.com) may use the server; repeatable; '*' "
      "= of all. Without it, only the server's own page may");
  group.AddList("--allowed-host", s->allowed_hosts, "NAME",
                "a name by which clients may call the server, besides localhost and --host; "
                "repeatable; '*' = any");
  group.Add("--max-body", s->max_body_mib, "MIB", "longest body of a request, in MiB (32)")
      ->check(Within(1, kMostMib));
  group
      .Add("--drain-seconds", s->drain_seconds, "S",
           "how long answers under way may take when the server is ended (30)")
      ->check(WithinSeconds());
  group.AddFlag("--log", s->logs,
                "a line for each request on standard error, nothing of what it says");
}

void DeclareBatch(CLI::App& app, ServeArgs* s) {
  OptionGroup group(app, "Many requests");
  group.Add("--parallel", s->parallel, "N", "answers written at a time (4)")
      ->check(Within(1, 4096));
  group
      .Add("--queue", s->queue, "N",
           "answers that may wait for that (64); requests beyond them are told to come later (429)")
      ->check(Within(1, 65'536));
  group
      .Add("-c,--context", s->context, "N",
           "longest text in tokens, prompt included (default, and 0: the model's)")
      ->check(Within(0, 1 << 30));
  group
      .Add("--memory", s->memory_mib, "MIB",
           "memory for the caches of all texts together, in MiB (2048)")
      ->check(Within(1, kMostMib));
  group
      .Add("--rows", s->rows, "N",
           "rows of a pass at most (128; 0: as many as the model takes); fewer mean shorter gaps "
           "between tokens while prompts are read, and slower prompts")
      ->check(Within(0, 1 << 20));
  group.AddFlag("--no-cache-prompt", s->forgets_prompts,
                "keep no prompts for later requests that begin alike");
}

void DeclareServedAnswers(CLI::App& app, ServeArgs* s) {
  OptionGroup group(app, "Answers");
  group.Add("--alias", s->alias, "NAME", "the model's name in answers (default: the file's)");
  group
      .Add(
          "--max-tokens", s->max_tokens, "N",
          "tokens an answer at most, whatever its request says (default, and 0: as the context has "
          "room for)")
      ->check(Within(0, 1 << 30));
  group
      .Add("--timeout", s->timeout_seconds, "S",
           "seconds after which an answer ends where it is, as at its length (0: never)")
      ->check(WithinSeconds());
  OfferValues(group.AddList("--also-drafter", s->also, "NAME",
                            "a drafter that requests may name (\"drafter\") besides --drafter and "
                            "none; repeatable"),
              DrafterNames());
  const std::vector<std::string> details(std::begin(kDetailNames), std::end(kDetailNames));
  group
      .Add("--speculative-metrics,--per-request-spec-decode-metrics", s->speculative_metrics,
           "none|summary|detailed", "what answers tell of their drafting (summary)")
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
  if (keys.empty()) return Error{path + ": holds no key"};
  return keys;
}

// Adapts the help of sampling options to the server.
void NameSamplingDefaults(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    if (option->get_group().starts_with("Sampling")) {
      option->group("Sampling (where a request does not say)");
    }
  }
  app.remove_option(app.get_option("--seed"));  // requests without a seed get a random one
  app.get_option("--temp")->description("temperature (1, as the OpenAI API has it); 0 = greedy");
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
