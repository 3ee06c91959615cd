// Fuzzes the request parser: arbitrary bytes must be parsed alike, whole and in pieces.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "serve/http/request_reader.h"

namespace foretoken {
namespace {

constexpr ReaderLimits kLimits{
    .line_bytes = 200, .head_bytes = 1000, .head_lines = 10, .body_bytes = 500};

// The result of parsing: methods, paths and bodies, and the final state.
std::vector<std::string> Read(std::string_view bytes, size_t piece) {
  using State = RequestReader::State;
  RequestReader reader(kLimits);
  std::vector<std::string> found;
  const auto take_complete = [&] {
    while (reader.state() == State::kComplete) {
      const RequestHead& head = reader.head();
      FT_CHECK(reader.body_bytes() <= kLimits.body_bytes);
      FT_CHECK(head.is_chunked || reader.body_bytes() == head.length);
      found.insert(found.end(), {head.method, head.path, reader.TakeBody()});
      reader.Next();
    }
  };
  for (size_t at = 0; at < bytes.size(); at += piece) {
    reader.Append(bytes.substr(at, piece));
    take_complete();
  }
  found.push_back(reader.state() == State::kRefused ? std::to_string(reader.refusal().status)
                                                    : std::string());
  return found;
}

}  // namespace
}  // namespace foretoken

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto whole = foretoken::Read(bytes, bytes.size() + 1);
  FT_CHECK(whole == foretoken::Read(bytes, 1));
  FT_CHECK(whole == foretoken::Read(bytes, size_t{data[0]} % 61 + 1));
  return 0;
}
