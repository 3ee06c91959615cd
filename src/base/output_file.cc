#include "base/output_file.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "base/writable.h"

namespace foretoken {
namespace {

constexpr const char* kTemporary = ".tmp";  // followed by the process's id

// Returns false and sets errno on failure.
bool WriteAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno != EINTR) return false;
    if (n > 0) bytes.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

// Whether a write of zero bytes succeeds; it fails on a full device (/dev/full). On failure sets
// errno.
bool TakesBytes(int fd) { return write(fd, "", 0) == 0; }

// Resolves `path` if it is a link to a file.
std::string BehindLinks(const std::string& path) {
  std::error_code fault;
  if (!std::filesystem::is_symlink(path, fault)) return path;
  const std::filesystem::path target = std::filesystem::canonical(path, fault);
  return fault ? path : target.string();
}

std::string FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

// Whether the process is gone and the file's lock is free. The lock matters because the id may be
// that of a process on another machine or in another container.
bool IsLeftover(const std::string& path, std::string_view id) {
  pid_t owner = 0;
  const auto [end, fault] = std::from_chars(id.data(), id.data() + id.size(), owner);
  if (fault != std::errc() || end != id.data() + id.size() || owner <= 0) return false;
  if (owner != getpid() && (kill(owner, 0) == 0 || errno != ESRCH)) return false;
  struct stat info {};
  if (lstat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return false;
  if (info.st_uid != geteuid()) return false;
  const FileHandle file(open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW));
  return file.is_open() && flock(file.get(), LOCK_EX | LOCK_NB) == 0;
}

// Creates a file and locks it, so that no process mistakes it for a leftover. Errors set errno.
FileHandle CreateLocked(const std::string& path, mode_t mode) {
  constexpr int kTries = 8;
  for (int i = 0; i < kTries; ++i) {
    FileHandle file(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
    if (!file.is_open()) return file;
    struct stat info {};
    // On a filesystem without locks the failure of flock is ignored. Between open and flock another
    // process may have removed the file as a leftover.
    if (flock(file.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) continue;
    if (fstat(file.get(), &info) == 0 && info.st_nlink > 0) {
      ForgetDeletedInput(info);
      return file;
    }
  }
  return {};
}

}  // namespace

void RemoveLeftovers(const std::string& folder, const std::string& prefix,
                     const std::string& suffix) {
  std::error_code fault;
  std::filesystem::directory_iterator entry(folder, fault);
  for (; !fault && entry != std::filesystem::directory_iterator(); entry.increment(fault)) {
    const std::string name = entry->path().filename().string();
    if (name.size() <= prefix.size() + suffix.size()) continue;
    if (!name.starts_with(prefix) || !name.ends_with(suffix)) continue;
    const std::string_view id =
        std::string_view(name).substr(prefix.size(), name.size() - prefix.size() - suffix.size());
    const std::string path = entry->path().string();
    if (IsLeftover(path, id)) unlink(path.c_str());
  }
}

Replacement& Replacement::operator=(Replacement&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(target_, other.target_);
  std::swap(temporary_, other.temporary_);
  std::swap(file_, other.file_);
  return *this;
}

Replacement::~Replacement() {
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

Result<Replacement> Replacement::Create(const std::string& path) {
  Replacement made;
  made.path_ = path;
  made.target_ = BehindLinks(path);
  const std::string folder = FolderOf(made.target_);
  const std::string name = std::filesystem::path(made.target_).filename().string();
  RemoveLeftovers(folder, name + kTemporary, "");
  struct stat info {};
  const mode_t mode = stat(made.target_.c_str(), &info) == 0 ? info.st_mode & 0777 : 0644;
  const std::string temporary = made.target_ + kTemporary + std::to_string(getpid());
  made.file_ = CreateLocked(temporary, mode);
  if (!made.file_.is_open()) return SystemError(path, "create");
  made.temporary_ = temporary;
  return made;
}

Status Replacement::Write(std::string_view bytes) {
  return WriteAll(file_.get(), bytes) ? Status() : SystemError(path_, "write");
}

// The lock is released with the descriptor, which is closed last.
Status Replacement::Commit() {
  if (fsync(file_.get()) != 0) return SystemError(path_, "write");
  if (rename(temporary_.c_str(), target_.c_str()) != 0) return SystemError(path_, "replace");
  temporary_.clear();
  return file_.Close() ? Status() : SystemError(path_, "write");
}

Result<OutputFile> OutputFile::Open(const std::string& path) {
  OutputFile output;
  if (path.empty()) return output;
  output.path_ = path;
  if (path == "-") {
    output.path_ = "standard output";
    output.kind_ = Kind::kStandardOutput;
    if (!TakesBytes(STDOUT_FILENO)) return SystemError(output.path_, "write");
    return output;
  }
  FT_RETURN_IF_ERROR(CheckWritable(path));
  if (IsDevice(path)) {
    output.kind_ = Kind::kStream;
    output.stream_ = FileHandle(open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
    if (!output.stream_.is_open()) return SystemError(path, "open");
    if (!TakesBytes(output.stream_.get())) return SystemError(path, "write");
    return output;
  }
  output.kind_ = Kind::kFile;
  FT_ASSIGN_OR_RETURN(output.claim_, OutputClaim::Make(path));
  // A trial write detects what permissions do not show: a read-only filesystem, a name that is too
  // long, a full disk.
  FT_ASSIGN_OR_RETURN(Replacement trial, Replacement::Create(path));
  FT_RETURN_IF_ERROR(trial.Write("\n"));
  return output;
}

Status OutputFile::Write(std::string_view bytes) {
  switch (kind_) {
    case Kind::kNone:
      return {};
    case Kind::kStandardOutput:
      if (std::fwrite(bytes.data(), 1, bytes.size(), stdout) == bytes.size()) return {};
      return SystemError(path_, "write");
    case Kind::kStream:
      FT_RETURN_IF_ERROR(FlushStandardOutput());  // the device may be the same stream
      return WriteAll(stream_.get(), bytes) ? Status() : SystemError(path_, "write");
    case Kind::kFile:
      if (!begun_) {
        FT_ASSIGN_OR_RETURN(file_, Replacement::Create(path_));
        begun_ = true;
      }
      return file_.Write(bytes);
  }
  return {};
}

Status OutputFile::Commit() {
  if (kind_ == Kind::kStandardOutput) return FlushStandardOutput();
  if (kind_ == Kind::kStream && !stream_.Close()) return SystemError(path_, "write");
  if (kind_ != Kind::kFile) return {};
  FT_RETURN_IF_ERROR(Write(""));  // creates the file even if it is empty
  return file_.Commit();
}

Status OutputFile::Finish(std::string_view content) {
  FT_RETURN_IF_ERROR(Write(content));
  return Commit();
}

Result<AppendedFile> AppendedFile::Open(const std::string& path) {
  AppendedFile output;
  output.path_ = path;
  FT_RETURN_IF_ERROR(CheckWritable(path));
  FT_ASSIGN_OR_RETURN(output.claim_, OutputClaim::Make(path));
  return output;
}

// Streams are not locked. On a filesystem without locks the failure of flock is ignored.
Result<bool> AppendedFile::Lock() {
  FileHandle file(open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  if (!file.is_open()) return SystemError(path_, "open");
  struct stat info {};
  if (fstat(file.get(), &info) != 0) return SystemError(path_, "open");
  if (S_ISREG(info.st_mode) && flock(file.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    return false;
  }
  file_ = std::move(file);
  return true;
}

Status AppendedFile::Begin(uint64_t kept) {
  if (!file_.is_open()) {
    FT_ASSIGN_OR_RETURN(const bool is_ours, Lock());
    if (!is_ours) return Error{path_ + ": another process is writing to it"};
  }
  struct stat info {};
  if (fstat(file_.get(), &info) != 0) return SystemError(path_, "open");
  if (!S_ISREG(info.st_mode)) return {};
  const bool shortened = ftruncate(file_.get(), static_cast<off_t>(kept)) == 0;
  return shortened ? Status() : SystemError(path_, "shorten");
}

Status AppendedFile::Append(std::string_view lines) {
  struct stat info {};
  const bool is_file = fstat(file_.get(), &info) == 0 && S_ISREG(info.st_mode);
  if (WriteAll(file_.get(), lines)) return {};
  const Error error = SystemError(path_, "write");
  if (is_file && ftruncate(file_.get(), info.st_size) != 0) {
    return Error{error.message + "; its last line is incomplete"};
  }
  return error;
}

Status AppendedFile::Sync() {
  return fsync(file_.get()) == 0 ? Status() : SystemError(path_, "write");
}

Status WriteFileAtomically(const std::string& path, std::string_view content) {
  if (IsDevice(path)) {
    FileHandle stream(open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
    if (!stream.is_open()) return SystemError(path, "open");
    const bool written = WriteAll(stream.get(), content) && stream.Close();
    return written ? Status() : SystemError(path, "write");
  }
  FT_ASSIGN_OR_RETURN(Replacement file, Replacement::Create(path));
  FT_RETURN_IF_ERROR(file.Write(content));
  return file.Commit();
}

Status FlushStandardOutput() {
  errno = 0;
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return {};
  if (errno == 0) return Error{"standard output: cannot write all of it"};
  return SystemError("standard output", "write");
}

}  // namespace foretoken
