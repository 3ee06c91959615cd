// The OpenAI API over a model: handles every HTTP request that was admitted.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "serve/api/answers.h"
#include "serve/api/served_model.h"
#include "serve/api/server_counts.h"
#include "serve/http/message.h"
#include "serve/openai/error.h"

namespace foretoken::openai {

// Thread-safety: Handle may be called by any number of threads at once, the rest only by the
// owner's thread.
class Service {
 public:
  // Starts the engine's thread. Borrows `loaded`, which must outlive this. `origin` (the model as
  // the user typed it) prefixes errors of the chat template. `draft`: the default drafter. Errors:
  // those of NewServedModel.
  static Result<std::unique_ptr<Service>> Create(const LoadedModel& loaded,
                                                 const std::string& origin, const DraftArgs& draft,
                                                 ServiceOptions options);
  ~Service();

  // All paths that are served, for the log.
  static std::vector<std::string> Paths();
  // Streamed replies borrow this until their streams are destroyed.
  HttpReply Handle(const HttpRequest& request);
  // Counts a request that was refused before it reached Handle.
  void CountRefusal(int status) { counts_.Refuse(status); }
  // Refuses new requests (503) and returns when all answers have ended. Answers still running after
  // `seconds`, or once `is_hurried` (may be empty) returns true, are cancelled.
  void Drain(double seconds, const std::function<bool()>& is_hurried = {});
  // The model's name in answers.
  const std::string& model() const { return served_->info.model; }
  // The default drafter; where it joins others, they are in brackets: "auto (pld+h, hass)".
  std::string DrafterName() const;

 private:
  Service(std::unique_ptr<ServedModel> served, ServiceOptions options);
  ApiResult<std::unique_ptr<Answers>> Start(Endpoint endpoint, const HttpRequest& request);
  HttpReply Answer(Endpoint endpoint, const HttpRequest& request);
  HttpReply Get(const std::string& path) const;
  HttpReply Post(const HttpRequest& request);
  HttpReply Tokenize(const HttpRequest& request) const;
  HttpReply Detokenize(const HttpRequest& request) const;
  HttpReply ApplyTemplate(const HttpRequest& request) const;

  std::unique_ptr<ServedModel> served_;
  const ServiceOptions options_;
  ServerCounts counts_;
  const std::string description_;  // of /openapi.json
  std::atomic<bool> is_draining_ = false;
  std::atomic<int> preparing_ = 0;  // requests being parsed and submitted
};

// The reply to a failed request.
HttpReply ErrorReply(const ApiError& error);

}  // namespace foretoken::openai
