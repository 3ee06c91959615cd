// Conversion of one answer's scheduler events into the parts sent to the client.
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

// Thread-safety: one thread. Borrows its arguments.
class AnswerReader {
 public:
  // `index`: the choice's index. `call_seed`: seed of the ids of tool calls.
  AnswerReader(const ServedModel& served, const Request& request, const Prepared& prepared,
               int index, uint64_t call_seed);
  // Enables reports of the sources of copied text. Must be called before the first event.
  void FollowCopies(const std::vector<Token>& prompt, const std::vector<Token>& prediction);

  // Returns the part of the answer that `event` adds. Its `finish` is kNone until the last one.
  // Cancelling an answer that is_complete() does not count as truncation; any other cancelled
  // answer finishes as kLength. REQUIRES: event.finish is not kError.
  Delta Take(const AnswerEvent& event);
  // Whether any further text would be ignored: the single requested tool call is complete.
  bool is_complete() const { return is_complete_; }
  bool is_finished() const { return whole_.finish != FinishReason::kNone; }

  // The whole answer. REQUIRES: is_finished(), the answer is not streamed.
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
  int scored_characters_ = 0;  // code points of the tokens whose log-probabilities were reported
  foretoken::Usage usage_;
  AnswerTimes times_;
};

}  // namespace foretoken::openai
