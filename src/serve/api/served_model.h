// The model that a server answers with, and everything that requests to it share.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "grammar/token_trie.h"
#include "runtime/decoder.h"
#include "runtime/draft_args.h"
#include "runtime/loaded_model.h"
#include "serve/openai/request.h"
#include "serve/openai/server_info.h"
#include "serve/openai/tools/tool_style.h"
#include "serve/scheduler.h"
#include "text/chat_prompt.h"

namespace foretoken::openai {

struct ServiceOptions {
  std::string model_name;      // as answers bear it; empty: the file's name without its ending
  SchedulerOptions scheduler;  // `drafters` and `end_tokens` are set by the service
  SamplingParams sampling{.temperature = 1};  // where requests are silent
  SpeculationDetail detail = SpeculationDetail::kSummary;
  std::vector<std::string> also;  // drafters that requests may name beside the default and "none"
  int most_new_tokens = 0;        // of an answer; 0: as many as the context has room for
  double request_seconds = 0;     // after which a request's answers end where they are; 0: never
  BodyLimits body;
};

// Immutable but for the scheduler. Thread-safety: any number of threads.
struct ServedModel {
  const LoadedModel* loaded = nullptr;
  Decoder decoder;
  std::unique_ptr<Scheduler> scheduler;  // writes with `decoder`
  std::unique_ptr<const ChatPrompter> prompter;
  std::shared_ptr<const TokenTrie> trie;  // for constraints
  // Bytes of the longest token: a text of so many times the context's tokens does not fit into it.
  size_t longest_piece = 1;
  ToolStyle tools = ToolStyle::kNone;
  std::vector<Token> call_marks;  // control tokens that open calls
  ServerInfo info;
  RequestRules rules;
  std::vector<std::string> drafters;  // by number in the generator; the default is 0
  std::string fingerprint;            // of the model and the program

  const Tokenizer& tokenizer() const { return *loaded->tokenizer; }
  // The number of the drafter that a request names; "": the default.
  int DrafterNumber(const std::string& name) const;
};

// Borrows `loaded`. `origin` opens errors of the chat template. Errors: a drafter, tree or verifier
// that does not exist or fit, a template that does not parse, an option outside its range.
Result<std::unique_ptr<ServedModel>> NewServedModel(const LoadedModel& loaded,
                                                    const std::string& origin,
                                                    const DraftArgs& draft,
                                                    const ServiceOptions& options);

}  // namespace foretoken::openai
