#include "base/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace foretoken {

FolderLock::Held::~Held() {
  if (is_held()) flock(lock_, LOCK_UN);
}

// The folder may be removed between the two calls.
Result<FolderLock> FolderLock::Open(const std::string& folder) {
  constexpr int kTries = 100;
  FolderLock lock;
  lock.folder_ = folder;
  lock.path_ = folder + "/lock";
  for (int i = 0; i < kTries; ++i) {
    if (mkdir(folder.c_str(), 0777) != 0 && errno != EEXIST) return SystemError(folder, "create");
    lock.file_ = FileHandle(open(lock.path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
    if (lock.file_.is_open()) return lock;
    if (errno != ENOENT) return SystemError(lock.path_, "open");
  }
  return SystemError(lock.path_, "create");
}

Result<FolderLock::Held> FolderLock::Wait() const {
  int result = 0;
  do {
    result = flock(file_.get(), LOCK_EX);
  } while (result != 0 && errno == EINTR);
  if (result != 0 && errno == ESTALE) return Held();  // removed on another machine
  if (result != 0) {
    return Error{path_ + ": cannot lock: " + std::strerror(errno) +
                 "; processes can share work only on a file system with locks (flock)"};
  }
  Held held(file_.get());
  struct stat locked {
  }, present{};
  const bool is_there = fstat(file_.get(), &locked) == 0 && stat(path_.c_str(), &present) == 0 &&
                        locked.st_dev == present.st_dev && locked.st_ino == present.st_ino;
  if (!is_there) return Held();
  return held;
}

void FolderLock::RemoveFolder() const {
  unlink(path_.c_str());
  rmdir(folder_.c_str());
}

}  // namespace foretoken
