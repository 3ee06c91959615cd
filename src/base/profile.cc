#include "base/profile.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/check.h"

namespace foretoken {

double Profile::SteadySeconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Profile::Profile(int threads, Clock clock)
    : clock_(clock), names_{"other", "waiting"}, slots_(static_cast<size_t>(threads)) {
  slots_[0].part = kOther;
  for (Slot& slot : slots_) slot.since = clock_();
}

int Profile::Part(std::string_view name) {
  const auto known = std::ranges::find(names_, name);
  const auto part = static_cast<int>(known - names_.begin());
  if (known == names_.end()) {
    FT_CHECK(part < kMostParts);
    names_.emplace_back(name);
  }
  return part;
}

int Profile::Turn(int thread, int part) {
  Slot& slot = slots_[static_cast<size_t>(thread)];
  const double now = clock_();
  slot.seconds[static_cast<size_t>(slot.part)] += now - slot.since;
  slot.since = now;
  return std::exchange(slot.part, part);
}

std::vector<Profile::Share> Profile::Take() {
  std::vector<Share> shares;
  shares.reserve(names_.size());
  for (const std::string& name : names_) shares.push_back({.name = name});
  for (size_t t = 0; t < slots_.size(); ++t) {
    Turn(static_cast<int>(t), slots_[t].part);
    for (size_t i = 0; i < shares.size(); ++i) shares[i].seconds += slots_[t].seconds[i];
    slots_[t].seconds.fill(0);
  }
  return shares;
}

}  // namespace foretoken
