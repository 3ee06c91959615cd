// The body of /metrics: the server's statistics, under the metric names of vLLM and of llama.cpp.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "serve/openai/answer.h"
#include "serve/openai/exposition.h"

namespace foretoken::openai {

// Statistics of one drafter. A position is a depth of the tree; lengths include the bonus token.
struct DraftCounts {
  int64_t drafts = 0;                      // passes that verified drafted tokens
  int64_t drafted = 0;                     // drafted tokens: nodes of trees
  int64_t accepted = 0;                    // accepted drafted tokens
  std::vector<int64_t> accepted_by_depth;  // from depth 1

  void Add(const SpeculationLog& log);
};

// The server's metrics. Not thread-safe.
class ServerMetrics {
 public:
  ServerMetrics();

  // Now.
  int running = 0;
  int waiting = 0;
  double cache_usage = 0;  // fraction of the cache's memory in use

  // Since the start.
  int64_t prompt_tokens = 0;  // computed or cached
  int64_t cached_tokens = 0;  // of prompt_tokens, reused from earlier texts
  double prompt_seconds = 0;
  int64_t generated_tokens = 0;
  double generation_seconds = 0;
  int64_t passes = 0;      // of the target model
  int64_t busy_slots = 0;  // running answers, summed over the passes
  // Answers by reason: "stop", "length", "tool_calls", "abort", "error".
  std::map<std::string, int64_t> finished;
  std::map<int, int64_t> refused;             // requests by HTTP status
  std::map<std::string, DraftCounts> drafts;  // by drafter

  Histogram first_token_seconds;  // from the request's submission
  Histogram token_seconds;        // between tokens; the tokens of one step share its time equally
  Histogram request_seconds;
  Histogram queue_seconds;
  Histogram acceptance_length;  // tokens emitted by a pass that verified a draft

  // Adds to acceptance_length a pass that accepted `accepted` drafted tokens and emitted a bonus.
  // The counts per depth are added by DraftCounts::Add when the answer has finished.
  void ObservePass(int accepted);

  // The text of /metrics. `model`: label of every sample with a vLLM name.
  std::string Text(const std::string& model) const;

 private:
  void WriteVllm(const Labels& model, Exposition& page) const;
  void WriteLatencies(const Labels& model, Exposition& page) const;
  void WriteLlamaCpp(Exposition& page) const;
  void WriteOwn(Exposition& page) const;
  // Writes the four counters that vLLM and llama.cpp have under the same names.
  void WriteDrafts(const std::string& space, const Labels& labels, Exposition& page) const;
};

}  // namespace foretoken::openai
