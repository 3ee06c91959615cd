#include "serve/http/request_log.h"

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <string_view>

namespace foretoken {
namespace {

using std::string_view;

constexpr string_view kMethods[] = {"GET", "HEAD", "POST", "OPTIONS"};

// `text` if it is in `known`, else "other".
template <typename Names>
string_view Known(string_view text, const Names& known) {
  const auto found = std::ranges::find(known, text);
  return found == std::end(known) ? "other" : string_view(*found);
}

}  // namespace

void LogRequest(const RequestHead& head, const std::vector<std::string>& paths, int status,
                double seconds, int64_t bytes) {
  const string_view method = Known(head.method, kMethods), path = Known(head.path, paths);
  std::fprintf(stderr, "foretoken: %.*s %.*s %d %.0f ms %lld bytes\n",
               static_cast<int>(method.size()), method.data(), static_cast<int>(path.size()),
               path.data(), status, seconds * 1000, static_cast<long long>(bytes));
}

}  // namespace foretoken
