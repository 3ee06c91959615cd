// A seeded source of random choices: a seed always gives the same sequence.
#pragma once

#include <cstdint>

#include "base/rng.h"

namespace foretoken {

class Dice {
 public:
  explicit Dice(uint64_t seed) : seed_(Mix(seed)) {}
  // [0, below)
  int Roll(int below) {
    return static_cast<int>(Mix(seed_ ^ ++rolls_) % static_cast<uint64_t>(below));
  }
  bool Chance(int percent) { return Roll(100) < percent; }
  int Between(int least, int most) { return least + Roll(most - least + 1); }

 private:
  uint64_t seed_, rolls_ = 0;
};

}  // namespace foretoken
