#include "eval/peers/subprocess.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sstream>

#include "base/child_process.h"

extern char** environ;

namespace foretoken {
namespace {

struct Pipe {
  int read = -1, write = -1;

  bool Open() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return false;
    read = ends[0];
    write = ends[1];
    return true;
  }
  ~Pipe() {
    if (read >= 0) close(read);
    if (write >= 0) close(write);
  }
  void CloseWrite() {
    close(write);
    write = -1;
  }
};

// Appends the next bytes to `text`. Returns false at end of file, or on an error other than EINTR.
bool ReadSome(int file, std::string* text) {
  char buffer[4096];
  const ssize_t size = read(file, buffer, sizeof buffer);
  if (size > 0) text->append(buffer, static_cast<size_t>(size));
  return size > 0 || (size < 0 && errno == EINTR);
}

// Reads both pipes until their write ends are closed.
void ReadBoth(const Pipe& out, const Pipe& err, ProcessOutput* output) {
  pollfd files[] = {{out.read, POLLIN, 0}, {err.read, POLLIN, 0}};
  std::string* const texts[] = {&output->out, &output->err};
  for (int open_files = 2; open_files > 0;) {
    if (poll(files, 2, -1) < 0) {
      if (errno == EINTR) continue;
      return;
    }
    for (size_t i = 0; i < 2; ++i) {
      if (files[i].fd < 0 || files[i].revents == 0) continue;
      if (ReadSome(files[i].fd, texts[i])) continue;
      files[i].fd = -1;
      --open_files;
    }
  }
}

bool IsProgram(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored) && access(path.c_str(), X_OK) == 0;
}

}  // namespace

Result<ProcessOutput> RunProcess(const std::vector<std::string>& arguments) {
  Pipe out, err;
  if (!out.Open() || !err.Open())
    return Error{"cannot create a pipe: " + std::string(std::strerror(errno))};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, out.write, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, err.write, STDERR_FILENO);
  std::vector<char*> argv;
  argv.reserve(arguments.size() + 1);
  for (const std::string& a : arguments) argv.push_back(const_cast<char*>(a.c_str()));
  argv.push_back(nullptr);
  pid_t child = 0;
  const int fault = posix_spawn(&child, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (fault != 0) return Error{arguments[0] + ": " + std::strerror(fault)};
  out.CloseWrite();
  err.CloseWrite();
  ProcessOutput output;
  ReadBoth(out, err, &output);
  const auto status = WaitForExit(child);
  if (!status.ok()) return Error{arguments[0] + ": " + status.error().message};
  output.status = WIFEXITED(*status) ? WEXITSTATUS(*status) : 128 + WTERMSIG(*status);
  return output;
}

std::string FindProgram(const std::string& name, const std::string& folder) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(!folder.empty() ? folder : path != nullptr ? path : "");
  const char separator = folder.empty() ? ':' : '\0';
  for (std::string directory; std::getline(folders, directory, separator);) {
    const std::filesystem::path program = std::filesystem::path(directory) / name;
    if (IsProgram(program)) return program.string();
  }
  return "";
}

}  // namespace foretoken
