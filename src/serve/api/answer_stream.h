// A reply body that streams answers as server-sent events.
#pragma once

#include <memory>
#include <string>

#include "serve/api/answers.h"
#include "serve/http/message.h"

namespace foretoken::openai {

class AnswerStream final : public ReplyStream {
 public:
  explicit AnswerStream(std::unique_ptr<Answers> answers);

  // An error after the stream has begun is sent as an event, and no [DONE] follows.
  std::optional<std::string> Next(std::chrono::milliseconds timeout) override;

 private:
  std::string Chunk(const Delta& delta) const;
  std::string Ending() const;

  std::unique_ptr<Answers> answers_;
  std::string opening_;  // sent first
  bool has_ended_ = false;
};

}  // namespace foretoken::openai
