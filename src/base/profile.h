// Time profile of a team of threads, by named parts of their work. Every thread is in exactly one
// part at any moment, so the times of all parts add up to the elapsed time multiplied by the number
// of threads.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace foretoken {

// Thread-safety: each thread switches its own part; everything else is for thread 0 while the other
// threads wait.
class Profile {
 public:
  using Clock = double (*)();  // seconds
  static constexpr int kOther = 0, kWaiting = 1, kMostParts = 64;

  // Thread 0 starts in kOther, the others in kWaiting.
  explicit Profile(int threads, Clock clock = &SteadySeconds);

  // The number of the part with this name, which is added if it is new.
  int Part(std::string_view name);
  // Switches `thread` to `part`; returns its previous part.
  int Turn(int thread, int part);
  int current(int thread) const { return slots_[static_cast<size_t>(thread)].part; }

  struct Share {
    std::string name;
    double seconds = 0;  // summed over all threads
  };
  // Time accumulated since the last call, by part, in order of first use.
  std::vector<Share> Take();

  // Keeps a thread in a part as long as the scope lives. Does nothing if `profile` is null.
  class Scope {
   public:
    Scope(Profile* profile, int thread, int part) : profile_(profile), thread_(thread) {
      if (profile_ != nullptr) before_ = profile_->Turn(thread_, part);
    }
    // For thread 0.
    Scope(Profile* profile, std::string_view name) : profile_(profile) {
      if (profile_ != nullptr) before_ = profile_->Turn(0, profile_->Part(name));
    }
    ~Scope() {
      if (profile_ != nullptr) profile_->Turn(thread_, before_);
    }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Profile* const profile_;
    int thread_ = 0, before_ = 0;
  };

 private:
  struct alignas(64) Slot {
    int part = kWaiting;
    double since = 0;
    std::array<double, kMostParts> seconds{};
  };
  static double SteadySeconds();

  Clock clock_;
  std::vector<std::string> names_;
  std::vector<Slot> slots_;  // [threads]
};

}  // namespace foretoken
