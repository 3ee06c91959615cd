// Where a team's time goes. Every thread is busy with one part at any moment, and the moment counts
// for that part; so the parts add up to the time that passed, times the threads.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace foretoken {

// Thread-safety: a thread turns itself; the rest is for thread 0 while the others wait.
class Profile {
 public:
  using Clock = double (*)();  // seconds
  static constexpr int kOther = 0, kWaiting = 1, kMostParts = 64;

  // Thread 0 begins with kOther, the others wait.
  explicit Profile(int threads, Clock clock = &SteadySeconds);

  // The part of this name.
  int Part(std::string_view name);
  // Thread `thread` turns to `part`; returns what it was busy with.
  int Turn(int thread, int part);
  int current(int thread) const { return slots_[static_cast<size_t>(thread)].part; }

  struct Share {
    std::string name;
    double seconds = 0;  // of all threads together
  };
  // What has come together since the last call, by part, in the order of their first use.
  std::vector<Share> Take();

  // For as long as it lives, the thread is busy with one part. Nothing where `profile` is null.
  class Scope {
   public:
    Scope(Profile* profile, int thread, int part) : profile_(profile), thread_(thread) {
      if (profile_ != nullptr) before_ = profile_->Turn(thread_, part);
    }
    // Of thread 0.
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
