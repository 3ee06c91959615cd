// What /metrics tells: the counts of a server, under the names of vLLM and of llama.cpp.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "serve/openai/answer.h"
#include "serve/openai/exposition.h"

namespace foretoken::openai {

// What drafting did, by the name of the drafter. A position is a depth of the tree; lengths include
// the bonus token.
struct DraftCounts {
  int64_t drafts = 0;                      // passes that verified guesses
  int64_t drafted = 0;                     // guesses: nodes of trees
  int64_t accepted = 0;                    // of them
  std::vector<int64_t> accepted_by_depth;  // from depth 1

  void Add(const SpeculationLog& log);
};

// Not thread-safe: one owner counts, and writes the text.
class ServerMetrics {
 public:
  ServerMetrics();

  // Now.
  int running = 0;
  int waiting = 0;
  double cache_usage = 0;  // share of the cache's memory that is used

  // Since the start.
  int64_t prompt_tokens = 0;  // computed or cached
  int64_t cached_tokens = 0;  // of them
  double prompt_seconds = 0;
  int64_t generated_tokens = 0;
  double generation_seconds = 0;
  int64_t passes = 0;                         // of the target
  int64_t busy_slots = 0;                     // summed over the passes
  std::map<std::string, int64_t> finished;    // requests by "stop", "length", "tool_calls", "abort"
  std::map<int, int64_t> refused;             // requests by HTTP status
  std::map<std::string, DraftCounts> drafts;  // by drafter

  Histogram first_token_seconds;  // from the request's arrival
  Histogram token_seconds;        // between tokens; those of one step share its time
  Histogram request_seconds;
  Histogram queue_seconds;
  Histogram acceptance_length;  // tokens a pass with guesses added

  // Counts a pass that verified `drafted` guesses of `drafter` and added `accepted` and the bonus.
  // A finished answer's counts per depth come by DraftCounts::Add; this one is for the histogram.
  void ObservePass(int accepted);

  // `model` labels every sample of vLLM's.
  std::string Text(const std::string& model) const;

 private:
  void WriteVllm(const Labels& model, Exposition& page) const;
  void WriteLatencies(const Labels& model, Exposition& page) const;
  void WriteLlamaCpp(Exposition& page) const;
  void WriteOwn(Exposition& page) const;
  // The four counters that both have by the same names.
  void WriteDrafts(const std::string& space, const Labels& labels, Exposition& page) const;
};

}  // namespace foretoken::openai
