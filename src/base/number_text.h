// Numbers as text.
#pragma once

#include <cstdio>
#include <string>

namespace foretoken {

// `number` in the printf format `format`, which has one conversion, of a double; cut off after 31
// characters.
inline std::string NumberText(const char* format, double number) {
  char text[32];
  std::snprintf(text, sizeof text, format, number);
  return text;
}

}  // namespace foretoken
