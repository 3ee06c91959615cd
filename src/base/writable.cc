#include "base/writable.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace foretoken {

bool IsDevice(const std::string& path) {
  struct stat info {};
  const auto look = path.starts_with("/dev/") ? lstat : stat;
  return look(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode);
}

Status CheckReplaces(const std::string& path, bool force) {
  struct stat info {};
  const bool is_file = stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
  if (force || !is_file || path == "-" || IsDevice(path)) return {};
  return Error{path + ": exists already; --force replaces it"};
}

Status CheckWritable(const std::string& path) {
  const auto refuse = [&path](const std::string& why) { return Error{path + ": " + why}; };
  struct stat info {};
  if (stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) {
    return refuse("is a folder; a file is expected");
  }
  const bool exists = access(path.c_str(), F_OK) == 0;
  if (IsDevice(path) || (exists && access(path.c_str(), W_OK) != 0)) {
    if (access(path.c_str(), W_OK) == 0) return {};
    return refuse(std::string("cannot write to it: ") + std::strerror(errno));
  }
  const size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  if (access(folder.c_str(), W_OK | X_OK) == 0) return {};
  return refuse("cannot write into " + folder + ": " + std::strerror(errno));
}

}  // namespace foretoken
