// Helpers that match texts in tests of grammars.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string_view>

#include "grammar/grammar.h"
#include "grammar/matcher.h"

namespace foretoken {

// Whether a text is complete, a proper prefix of a complete text, or neither.
enum class Reading { kWhole, kBeginning, kNone };

inline Reading Read(const std::shared_ptr<const Automaton>& grammar, std::string_view text) {
  Matcher matcher(grammar);
  Matcher::Config config = matcher.Start();
  for (const char c : text) config = matcher.Step(config, static_cast<uint8_t>(c));
  if (!Matcher::IsAlive(config)) return Reading::kNone;
  return matcher.IsComplete(config) ? Reading::kWhole : Reading::kBeginning;
}

inline bool Accepts(const std::shared_ptr<const Automaton>& grammar, std::string_view text) {
  return Read(grammar, text) == Reading::kWhole;
}

}  // namespace foretoken
