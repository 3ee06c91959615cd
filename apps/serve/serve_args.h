// The options of `foretoken serve`.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/draft_args.h"
#include "runtime/loaded_model.h"
#include "runtime/sampling_args.h"
#include "serve/api/service.h"
#include "serve/http/http_server.h"

namespace foretoken {

struct ServeArgs {
  ModelArgs model;
  SamplingArgs sampling;
  DraftArgs draft{.drafter = "auto"};
  DType cache_type = DType::kF16;

  std::string host = "127.0.0.1";
  int port = 8080;
  std::vector<std::string> api_keys, allowed_hosts, cors_origins;
  std::string api_key_file;
  bool logs = false;
  double drain_seconds = 30;

  std::string alias;
  std::vector<std::string> also;  // drafters
  std::string speculative_metrics = "summary";
  int parallel = 4, queue = 64;
  int context = 0, rows = 128, memory_mib = 2048;
  bool forgets_prompts = false;
  int max_tokens = 0, max_body_mib = 32;
  double timeout_seconds = 0;
};

void DeclareServe(CLI::App& app, ServeArgs* args);
// Checks combinations of options, before any work.
Status CheckServe(const ServeArgs& args);

// Errors: a key file that cannot be read or has no keys.
Result<HttpServerOptions> HttpOptionsOf(const ServeArgs& args);
// `file`: the model's file, whose suggested defaults --model-defaults uses.
Result<openai::ServiceOptions> ServiceOptionsOf(const ServeArgs& args, const ModelFile& file);

}  // namespace foretoken
