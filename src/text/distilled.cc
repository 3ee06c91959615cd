#include "text/distilled.h"

#include <algorithm>

#include "base/hash.h"
#include "base/json.h"
#include "base/rng.h"

namespace foretoken {

std::string DistilledLine(size_t source, std::span<const ChatMessage> messages) {
  Json list = Json::array();
  for (const ChatMessage& m : messages) list.push_back({{"role", m.role}, {"content", m.content}});
  const Json line = {{"source", source}, {"messages", std::move(list)}};
  return JsonText(line) + "\n";
}

uint64_t HashOfAsked(std::span<const DocumentTurn> turns) {
  uint64_t hash = 0;
  for (const DocumentTurn& turn : turns) {
    if (turn.role == "assistant") continue;
    for (const std::string& part : {turn.role, turn.text}) {
      hash = Mix(hash ^ HashBytes(std::as_bytes(std::span(part))));
    }
  }
  return hash;
}

bool IsRepetitive(std::span<const Token> text) {
  constexpr size_t kLongestPeriod = 64, kRepetitions = 4, kFewest = 32;
  for (size_t period = 1; period <= kLongestPeriod; ++period) {
    const size_t circling = std::max(kFewest, kRepetitions * period);
    if (text.size() < circling) return false;
    const auto tail = text.last(circling);
    if (std::ranges::equal(tail.subspan(period), tail.first(circling - period))) return true;
  }
  return false;
}

}  // namespace foretoken
