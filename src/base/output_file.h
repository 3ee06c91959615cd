// Files that are written: checked before the work begins, never in place of an input, whole or not
// at all, and never silently incomplete.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/file_claims.h"
#include "base/input_file.h"
#include "base/result.h"

namespace foretoken {

// What becomes `path` once it is complete: a file of another name beside it until then. Links are
// followed. What killed processes left of the same kind is removed. Checks no claims.
class Replacement {
 public:
  Replacement() = default;
  Replacement(Replacement&& other) noexcept { *this = std::move(other); }
  Replacement& operator=(Replacement&& other) noexcept;
  ~Replacement();  // leaves nothing behind of what was not committed

  // Errors: the system's.
  static Result<Replacement> Create(const std::string& path);
  Status Write(std::string_view bytes);
  // Makes it durable and gives it its name. To be called once.
  Status Commit();

 private:
  std::string path_, target_, temporary_;  // as named; behind links; empty once it is gone
  FileHandle file_;
};

// One output of a command. Opened before the work, so that what cannot be written is refused then;
// the file itself is made at the first Write.
class OutputFile {
 public:
  // Is not active: an output that nobody asked for, which takes everything and writes nothing.
  OutputFile() = default;

  // "" opens one that is not active, "-" standard output; devices and pipes take what is written as
  // it comes. Errors: those of CheckWritable and OutputClaim.
  static Result<OutputFile> Open(const std::string& path);

  bool active() const { return kind_ != Kind::kNone; }
  const std::string& path() const { return path_; }

  Status Write(std::string_view bytes);
  // The file appears under its name, in place of what had it. To be called once, last.
  Status Commit();
  // Writes `content` alone.
  Status Finish(std::string_view content);

 private:
  enum class Kind : uint8_t { kNone, kStandardOutput, kStream, kFile };

  Kind kind_ = Kind::kNone;
  std::string path_;
  OutputClaim claim_;
  FileHandle stream_;
  Replacement file_;
  bool begun_ = false;
};

// A file that grows by whole lines, so that a run that was cut off goes on from it. One process at
// a time writes to it.
class AppendedFile {
 public:
  AppendedFile() = default;

  // Changes nothing yet. Errors: those of OutputFile::Open.
  static Result<AppendedFile> Open(const std::string& path);
  // Keeps the first `kept` bytes of what is there, and makes the file where there is none. To be
  // called once. Errors: the system's, another process that writes to it.
  Status Begin(uint64_t kept);
  // `lines` are in the file, or nothing of them where that fails. To be called after Begin.
  Status Append(std::string_view lines);

 private:
  std::string path_;
  OutputClaim claim_;
  FileHandle file_;
};

// Writes `content` to `path` so that a reader (or a crash) sees the old file or the whole new one.
// For a process's own state: checks no claims.
Status WriteFileAtomically(const std::string& path, std::string_view content);

// Writes out standard output. Errors: anything written to it since the process began was lost.
Status FlushStandardOutput();

// Removes from `folder` the regular files PREFIX<process id>SUFFIX of processes that are gone.
// Those of `folder`'s other users stay.
void RemoveLeftovers(const std::string& folder, const std::string& prefix,
                     const std::string& suffix);

}  // namespace foretoken
