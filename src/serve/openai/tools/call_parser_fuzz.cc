// Fuzzes the parser of tool calls: content and calls do not depend on how a text is divided, and a
// text without calls is unchanged.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "serve/openai/tools/call_parser.h"

namespace foretoken::openai {
namespace {

struct Sums {
  std::string content;
  std::vector<std::string> calls;

  friend bool operator==(const Sums&, const Sums&) = default;
};

void AddTo(const ToolText& text, Sums& sums) {
  sums.content += text.content;
  for (const CallDelta& call : text.calls) {
    if (!call.name.empty()) sums.calls.push_back(call.id + call.name);
    FT_CHECK(call.index + 1 == std::ssize(sums.calls) || call.name.empty());
    sums.calls.at(static_cast<size_t>(call.index)) += call.arguments;
  }
}

Sums ParseInPieces(ToolStyle style, bool parallel, std::string_view text, size_t piece) {
  const std::vector<Tool> tools = {{.name = "add"}, {.name = "n"}};
  ToolCallParser parser(style, tools, parallel, 1);
  Sums sums;
  for (size_t at = 0; at < text.size(); at += piece)
    AddTo(parser.Add(text.substr(at, piece)), sums);
  AddTo(parser.Finish(), sums);
  return sums;
}

}  // namespace
}  // namespace foretoken::openai

// The first byte selects the style and the sizes of pieces.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace foretoken::openai;  // NOLINT
  if (size == 0) return 0;
  const auto style = static_cast<ToolStyle>(data[0] % 4);
  const bool parallel = data[0] / 4 % 2 == 0;
  const size_t piece = 1 + data[0] / 8;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const Sums whole = ParseInPieces(style, parallel, text, text.size() + 1);
  FT_CHECK(ParseInPieces(style, parallel, text, piece) == whole);
  FT_CHECK(!whole.calls.empty() || whole.content == text);
  return 0;
}
