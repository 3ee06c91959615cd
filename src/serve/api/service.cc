#include "serve/api/service.h"

#include <algorithm>
#include <chrono>
#include <string_view>
#include <thread>
#include <utility>

#include "base/comma_list.h"
#include "base/json.h"
#include "base/utf8.h"
#include "serve/api/answer_stream.h"
#include "serve/api/answers.h"
#include "serve/api/prepare.h"
#include "serve/http/refusal.h"
#include "serve/openai/openapi.h"
#include "serve/web/page.h"

namespace foretoken::openai {
namespace {

using std::chrono::milliseconds;

// The served paths and their methods. Those without "/v1" are requested by clients whose base URL
// lacks it.
struct Route {
  std::string_view path;
  std::string_view method;
};
constexpr Route kRoutes[] = {{"/", "GET"},
                             {"/health", "GET"},
                             {"/v1/health", "GET"},
                             {"/v1/models", "GET"},
                             {"/models", "GET"},
                             {"/metrics", "GET"},
                             {"/props", "GET"},
                             {"/slots", "GET"},
                             {"/openapi.json", "GET"},
                             {"/v1/chat/completions", "POST"},
                             {"/chat/completions", "POST"},
                             {"/v1/completions", "POST"},
                             {"/completions", "POST"},
                             {"/tokenize", "POST"},
                             {"/detokenize", "POST"},
                             {"/apply-template", "POST"},
                             {"/v1/embeddings", "POST"},
                             {"/v1/responses", "POST"},
                             {"/v1/messages", "POST"}};
constexpr int kClientIsGone = 499;                  // for the log; never reaches a client
constexpr size_t kMostTokenized = size_t{1} << 20;  // bytes of a text; a quarter of it with pieces

constexpr std::string_view kModelFolders[] = {"/v1/models/", "/models/"};

constexpr std::string_view kLacking[] = {"/v1/embeddings", "/v1/responses", "/v1/messages"};

HttpReply JsonReply(const Json& body) { return {.body = JsonText(body)}; }

ApiError MethodError(std::string_view method) {
  return {.kind = ErrorKind::kMethodForbidden,
          .message = "This path accepts " + std::string(method) + " requests only.",
          .code = "method_not_allowed"};
}

// Whether `path` is that of one model, "/v1/models/NAME" or "/models/NAME".
bool NamesAModel(std::string_view path) {
  return std::ranges::any_of(kModelFolders, [&](std::string_view folder) {
    return path.starts_with(folder) && path.size() > folder.size();
  });
}

}  // namespace

HttpReply ErrorReply(const ApiError& error) { return ReplyOf(Refuse(error)); }

Service::Service(std::unique_ptr<ServedModel> served, ServiceOptions options)
    : served_(std::move(served)),
      options_(std::move(options)),
      description_(JsonText(OpenApiDocument(served_->rules, FT_VERSION))) {
  served_->scheduler->Start();
}

Service::~Service() { served_->scheduler->Stop(); }

Result<std::unique_ptr<Service>> Service::Create(const LoadedModel& loaded,
                                                 const std::string& origin, const DraftArgs& draft,
                                                 ServiceOptions options) {
  FT_ASSIGN_OR_RETURN(auto served, NewServedModel(loaded, origin, draft, options));
  return std::unique_ptr<Service>(new Service(std::move(served), std::move(options)));
}

std::string Service::DrafterName() const {
  const std::string& name = served_->info.drafter;
  const bool is_list = name.find(',') != std::string::npos;  // names its parts already
  if (served_->decoder.drafter == nullptr || is_list) return name;
  // A drafter that joins no others is one part without a name.
  const std::string parts = CommaList(served_->decoder.drafter->Parts(), &DraftPart::name);
  return parts.empty() ? name : name + " (" + parts + ")";
}

std::vector<std::string> Service::Paths() {
  std::vector<std::string> paths;
  for (const Route& route : kRoutes) paths.emplace_back(route.path);
  return paths;
}

HttpReply Service::Handle(const HttpRequest& request) {
  const bool has_memory = options_.request_reserve == nullptr || options_.request_reserve->Refill();
  const Route* route = std::ranges::find(kRoutes, request.path, &Route::path);
  HttpReply reply;
  if (request.method == "GET" &&
      NamesAModel(request.path)) {  // any name stands for the loaded model
    reply = JsonReply(ModelBody(served_->info));
  } else if (route == std::end(kRoutes)) {
    reply = ErrorReply(NotFoundError(request.path));
  } else if (route->method != request.method) {
    reply = ErrorReply(MethodError(route->method));
    reply.headers.emplace_back("Allow", route->method);
  } else if (!has_memory && request.method == "POST") {
    reply = ErrorReply(
        UnavailableError("The system has no memory for another request; try again later."));
  } else {
    reply = request.method == "GET" ? Get(request.path) : Post(request);
  }
  if (reply.status >= 400 && reply.status != kClientIsGone) counts_.Refuse(reply.status);
  return reply;
}

HttpReply Service::Get(const std::string& path) const {
  if (path == "/") {
    return {.content_type = "text/html; charset=utf-8",
            .body = std::string(WebPage()),
            .headers = {{"Content-Security-Policy", std::string(kWebPagePolicy)}}};
  }
  if (path.ends_with("/health")) return JsonReply(HealthBody());
  if (path.ends_with("/models")) return JsonReply(ModelsBody(served_->info));
  if (path == "/props") return JsonReply(PropsBody(served_->info));
  if (path == "/openapi.json") return {.body = description_};
  const Counters counters = served_->scheduler->Snapshot();
  if (path == "/slots")
    return JsonReply(SlotsBody(served_->info, counts_.Slots(counters, served_->info.slots)));
  return {.content_type = std::string(Exposition::kContentType),
          .body = counts_.Metrics(counters, served_->info.model)};
}

HttpReply Service::Post(const HttpRequest& request) {
  const std::string& path = request.path;
  if (std::ranges::find(kLacking, path) != std::end(kLacking))
    return ErrorReply(NotSupportedError(path));
  if (path == "/tokenize") return Tokenize(request);
  if (path == "/detokenize") return Detokenize(request);
  if (path == "/apply-template") return ApplyTemplate(request);
  return Answer(path.ends_with("/chat/completions") ? Endpoint::kChat : Endpoint::kText, request);
}

ApiResult<std::unique_ptr<Answers>> Service::Start(Endpoint endpoint, const HttpRequest& request) {
  struct Preparing {  // makes Drain wait for requests already admitted
    std::atomic<int>& count;
    explicit Preparing(std::atomic<int>& counted) : count(counted) { ++count; }
    ~Preparing() { --count; }
  };
  const Preparing preparing(preparing_);
  if (is_draining_) return ShuttingDownError();
  ApiResult<Request> parsed = ParseRequest(endpoint, request.body, served_->rules);
  if (!parsed.ok()) return parsed.error();
  return Answers::Start(*served_, counts_, std::move(parsed.value()), options_);
}

HttpReply Service::Answer(Endpoint endpoint, const HttpRequest& request) {
  auto started = Start(endpoint, request);
  if (!started.ok()) return ErrorReply(started.error());
  std::unique_ptr<Answers> answers = std::move(started.value());
  if (answers->request().stream) {
    return {.content_type = "text/event-stream",
            .stream = std::make_unique<AnswerStream>(std::move(answers))};
  }
  constexpr milliseconds kBetweenLooks(50);
  while (!answers->ended()) {
    answers->Wait(kBetweenLooks);
    // The client is gone and no reply is sent; destroying `answers` cancels them.
    if (request.is_gone && request.is_gone()) return {.status = kClientIsGone};
  }
  if (answers->error()) return ErrorReply(*answers->error());
  return JsonReply(answers->Whole());
}

HttpReply Service::Tokenize(const HttpRequest& request) const {
  const auto parsed = ParseTokenizeRequest(request.body, served_->rules);
  if (!parsed.ok()) return ErrorReply(parsed.error());
  const size_t most = parsed->with_pieces ? kMostTokenized / 4 : kMostTokenized;
  if (parsed->content.size() > most) {
    return ErrorReply({.kind = ErrorKind::kTooLarge,
                       .message = "Invalid value for 'content': found " +
                                  std::to_string(parsed->content.size()) +
                                  " bytes, expected at most " + std::to_string(most) + ".",
                       .param = "content",
                       .code = "content_too_large"});
  }
  const Tokenizer& tokenizer = served_->tokenizer();
  const std::vector<Token> tokens =
      parsed->add_special
          ? EncodePrompt(tokenizer, parsed->content, parsed->parse_special)
          : tokenizer.Encode(parsed->content,
                             {.add_bos = false, .parse_special = parsed->parse_special});
  std::vector<std::string> pieces;
  if (parsed->with_pieces) {
    for (const Token token : tokens) pieces.push_back(tokenizer.Piece(token, true));
  }
  return JsonReply(TokenizeBody(tokens, pieces));
}

HttpReply Service::Detokenize(const HttpRequest& request) const {
  const auto tokens = ParseDetokenizeRequest(request.body, served_->rules);
  if (!tokens.ok()) return ErrorReply(tokens.error());
  const std::string text = served_->tokenizer().Decode(tokens.value(), /*show_control=*/true);
  return JsonReply(DetokenizeBody(ReplaceInvalidUtf8(text)));
}

HttpReply Service::ApplyTemplate(const HttpRequest& request) const {
  const auto parsed = ParseRequest(Endpoint::kChat, request.body, served_->rules);
  if (!parsed.ok()) return ErrorReply(parsed.error());
  const ApiResult<std::string> text = RenderChat(*served_, parsed.value());
  if (!text.ok()) return ErrorReply(text.error());
  return JsonReply(ApplyTemplateBody(text.value()));
}

void Service::Drain(double seconds, const std::function<bool()>& is_hurried) {
  is_draining_ = true;
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (std::chrono::steady_clock::now() < end && !(is_hurried && is_hurried())) {
    if (preparing_ == 0 && !served_->scheduler->busy()) break;
    std::this_thread::sleep_for(milliseconds(20));
  }
  served_->scheduler->Stop();
}

}  // namespace foretoken::openai
