// The served model and the objects that all requests to it share.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/memory_reserve.h"
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
  std::string model_name;      // the name in answers; empty: the file's name without its extension
  SchedulerOptions scheduler;  // `drafters` and `end_tokens` are set by the service
  SamplingParams sampling{.temperature = 1};  // defaults for requests
  SpeculationDetail detail = SpeculationDetail::kSummary;
  std::vector<std::string> also;  // drafters that requests may name besides the default and "none"
  int most_new_tokens = 0;        // maximum tokens of an answer; 0: limited only by the context
  double request_seconds = 0;     // time limit after which a request's answers are cut off; 0: none
  BodyLimits body;
  // May be used up by the threads that call Service::Handle, which refuses POST requests until it
  // can be refilled. Borrowed; null: no reserve.
  MemoryReserve* request_reserve = nullptr;
};

// Immutable except for the scheduler. Thread-safety: any number of threads.
struct ServedModel {
  const LoadedModel* loaded = nullptr;
  Decoder decoder;
  std::unique_ptr<Scheduler> scheduler;  // runs `decoder`
  std::unique_ptr<const ChatPrompter> prompter;
  std::shared_ptr<const TokenTrie> trie;  // used by constraints
  // Bytes of the longest token. A text of at least longest_piece * context bytes cannot fit into
  // the context.
  size_t longest_piece = 1;
  ToolStyle tools = ToolStyle::kNone;
  std::vector<Token> call_marks;  // control tokens that delimit tool calls
  ServerInfo info;
  RequestRules rules;
  std::vector<std::string> drafters;  // by index in the generator; the default is 0
  std::string fingerprint;            // identifies the model and the program's version

  const Tokenizer& tokenizer() const { return *loaded->tokenizer; }
  // The index of the drafter that a request names; "": the default.
  int DrafterNumber(const std::string& name) const;
};

// Builds the decoder and the scheduler. Borrows `loaded`. `origin` prefixes errors of the chat
// template. Errors: a drafter, tree or verifier that does not exist or does not fit, a template
// that does not parse, an option outside its range.
Result<std::unique_ptr<ServedModel>> NewServedModel(const LoadedModel& loaded,
                                                    const std::string& origin,
                                                    const DraftArgs& draft,
                                                    const ServiceOptions& options);

}  // namespace foretoken::openai
