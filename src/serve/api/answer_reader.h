// Turns the events of one answer into what clients are told of it.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "serve/api/copied_text.h"
#include "serve/api/prepare.h"
#include "serve/api/served_model.h"
#include "serve/openai/answer.h"
#include "serve/openai/speculation_log.h"
#include "serve/openai/tools/call_parser.h"
#include "serve/request.h"

namespace foretoken::openai {

// Thread-safety: one thread. Borrows what it is given.
class AnswerReader {
 public:
  // `index`: of the choice. `call_seed`: of the ids of calls.
  AnswerReader(const ServedModel& served, const Request& request, const Prepared& prepared,
               int index, uint64_t call_seed);
  // Tells where copies come from; before the first event.
  void FollowCopies(const std::vector<Token>& prompt, const std::vector<Token>& prediction);

  // The part of the answer that `event` adds. Its `finish` is kNone until the last one. An answer
  // that is_complete may be cancelled; one that is cancelled otherwise was cut off (kLength).
  // REQUIRES: no error.
  Delta Take(const AnswerEvent& event);
  // Whether nothing that follows would be told: the only call that was asked for is whole.
  bool is_complete() const { return is_complete_; }
  bool is_finished() const { return whole_.finish != FinishReason::kNone; }

  // All parts together. REQUIRES: is_finished(), an answer that is not streamed.
  Choice TakeWhole() { return std::move(whole_); }
  const SpeculationLog& log() const { return log_; }
  const foretoken::Usage& usage() const { return usage_; }
  const AnswerTimes& times() const { return times_; }

 private:
  void AddText(std::string_view text, Delta& delta);
  void AddToolText(ToolText text, Delta& delta);
  bool IsShown(Token token) const;
  void AddLogprobs(const AnswerEvent& event, Delta& delta);
  void AddCycle(const AnswerEvent& event, Delta& delta);
  FinishReason FinishOf(foretoken::FinishReason reason) const;
  void Keep(const Delta& delta);

  const ServedModel& served_;
  const Request& request_;
  std::optional<ToolCallParser> parser_;
  bool is_complete_ = false;
  std::optional<CopiedText> copied_;
  SpeculationLog log_;
  Choice whole_;
  int scored_characters_ = 0;  // of tokens whose log-probabilities were told
  foretoken::Usage usage_;
  AnswerTimes times_;
};

}  // namespace foretoken::openai
