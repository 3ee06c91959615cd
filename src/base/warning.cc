#include "base/warning.h"

#include <cstdio>
#include <mutex>
#include <set>

#include "base/legible.h"

namespace foretoken {

void Warn(const std::string& sentence) {
  static std::mutex mutex;
  static std::set<std::string> printed;
  const std::lock_guard lock(mutex);
  if (!printed.insert(sentence).second) return;
  std::fprintf(stderr, "foretoken: warning: %s\n", Legible(sentence).c_str());
}

}  // namespace foretoken
