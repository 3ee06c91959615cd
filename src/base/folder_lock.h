// A folder that processes share, on one machine or on several, with a lock on what is in it.
#pragma once

#include <string>
#include <utility>

#include "base/input_file.h"
#include "base/result.h"

namespace foretoken {

// The lock is that of a file in the folder (flock): the kernel releases it when its process ends in
// any way. A process that removes the folder removes this file too, so that those which wait for
// the lock notice.
class FolderLock {
 public:
  // The lock being held.
  class Held {
   public:
    Held() = default;
    explicit Held(int lock) : lock_(lock) {}
    Held(Held&& other) noexcept : lock_(std::exchange(other.lock_, -1)) {}
    Held& operator=(Held&&) = delete;
    ~Held();  // releases the lock

    // False if the folder was removed meanwhile, even if it has been created again.
    bool is_held() const { return lock_ >= 0; }

   private:
    int lock_ = -1;
  };

  FolderLock() = default;

  // Creates the folder if it is missing, and opens its lock. Errors: those of the system.
  static Result<FolderLock> Open(const std::string& folder);
  // Waits for the lock. The FolderLock must outlive what is returned, but may be moved. Errors: the
  // file system has no locks.
  Result<Held> Wait() const;
  // Removes the lock, and the folder if nothing else is in it. REQUIRES: the lock is held.
  void RemoveFolder() const;

 private:
  std::string folder_, path_;
  FileHandle file_;
};

}  // namespace foretoken
