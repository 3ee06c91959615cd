// The OpenAI API over a model: every request of HTTP that is let in, answered.
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

// Thread-safety: Handle is for any number of threads at once, the rest for the owner's.
class Service {
 public:
  // Borrows `loaded`, which must outlive this. `origin` (the model as it was typed) opens errors of
  // the chat template. `draft`: the default drafter. The engine's thread runs from now on.
  static Result<std::unique_ptr<Service>> Create(const LoadedModel& loaded,
                                                 const std::string& origin, const DraftArgs& draft,
                                                 ServiceOptions options);
  ~Service();

  // The paths that there are, for the log.
  static std::vector<std::string> Paths();
  // Answers that are streamed borrow this until their streams are destroyed.
  HttpReply Handle(const HttpRequest& request);
  // Counts a request that was refused before Handle saw it.
  void CountRefusal(int status) { counts_.Refuse(status); }
  // Takes no new requests (503). Returns when all answers have ended; those that have not after
  // `seconds` are cancelled, and so is everything once `is_hurried` says so, which may be empty.
  void Drain(double seconds, const std::function<bool()>& is_hurried = {});
  // The model's name, as answers bear it.
  const std::string& model() const { return served_->info.model; }

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
  std::atomic<int> preparing_ = 0;  // requests on their way to the scheduler
};

// The answer to a request that fails.
HttpReply ErrorReply(const ApiError& error);

}  // namespace foretoken::openai
