#include "serve/api/answer_stream.h"

#include <utility>

#include "base/json.h"

namespace foretoken::openai {

AnswerStream::AnswerStream(std::unique_ptr<Answers> answers) : answers_(std::move(answers)) {
  if (answers_->request().endpoint != Endpoint::kChat) return;
  // The role chunk is sent first and tells the client that its request was accepted.
  for (int i = 0; i < answers_->choices(); ++i)
    opening_ += SseEvent(ChunkBody(answers_->head(), {.index = i, .opens = true}));
}

std::optional<std::string> AnswerStream::Next(std::chrono::milliseconds timeout) {
  if (has_ended_) return std::nullopt;
  if (!opening_.empty()) return std::exchange(opening_, "");
  std::string events;
  for (const Delta& delta : answers_->Wait(timeout)) events += Chunk(delta);
  if (!answers_->ended()) return events;
  has_ended_ = true;
  return events + Ending();
}

std::string AnswerStream::Chunk(const Delta& delta) const {
  const Request& request = answers_->request();
  const bool ends_all = answers_->ended() && delta.finish != FinishReason::kNone;
  if (!request.timings_per_token && !ends_all) return SseEvent(ChunkBody(answers_->head(), delta));
  const Timings timings = answers_->TotalTimings();
  return SseEvent(ChunkBody(answers_->head(), delta, {.timings = &timings}));
}

std::string AnswerStream::Ending() const {
  if (answers_->error()) return SseEvent(ErrorBody(*answers_->error()));
  std::string events;
  const Request& request = answers_->request();
  if (request.include_usage) {
    const Timings timings = answers_->TotalTimings();
    events += SseEvent(UsageChunkBody(
        answers_->head(), answers_->TotalUsage(),
        {.timings = &timings, .speculation = answers_->Log(), .detail = request.detail}));
  }
  return events.append(kSseDone);
}

}  // namespace foretoken::openai
