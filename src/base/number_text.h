// Numbers as text.
#pragma once

#include <cstdio>
#include <string>

namespace foretoken {

// `number` as printf writes it; at most 31 characters. `format` takes one double.
inline std::string NumberText(const char* format, double number) {
  char text[32];
  std::snprintf(text, sizeof text, format, number);
  return text;
}

}  // namespace foretoken
