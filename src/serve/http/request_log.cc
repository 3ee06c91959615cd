#include "serve/http/request_log.h"

#include <algorithm>
#include <cstdio>
#include <span>
#include <string_view>

namespace foretoken {
namespace {

using std::string_view;

constexpr string_view kMethods[] = {"GET", "HEAD", "POST", "OPTIONS"};
constexpr string_view kPaths[] = {"/",
                                  "/apply-template",
                                  "/chat/completions",
                                  "/completions",
                                  "/detokenize",
                                  "/health",
                                  "/metrics",
                                  "/models",
                                  "/openapi.json",
                                  "/props",
                                  "/slots",
                                  "/tokenize",
                                  "/v1/chat/completions",
                                  "/v1/completions",
                                  "/v1/embeddings",
                                  "/v1/health",
                                  "/v1/messages",
                                  "/v1/models",
                                  "/v1/responses"};

string_view Known(string_view text, std::span<const string_view> known) {
  const auto found = std::ranges::find(known, text);
  return found == known.end() ? "other" : *found;
}

}  // namespace

void LogRequest(const RequestHead& head, int status, double seconds, int64_t bytes) {
  const string_view method = Known(head.method, kMethods), path = Known(head.path, kPaths);
  std::fprintf(stderr, "foretoken: %.*s %.*s %d %.0f ms %lld bytes\n",
               static_cast<int>(method.size()), method.data(), static_cast<int>(path.size()),
               path.data(), status, seconds * 1000, static_cast<long long>(bytes));
}

}  // namespace foretoken
