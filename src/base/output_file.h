// Output files: checked before the work begins, never in place of an input, replaced as a whole or
// not at all, and never silently incomplete.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/file_claims.h"
#include "base/input_file.h"
#include "base/result.h"

namespace foretoken {

// A temporary file beside `path` that replaces it when complete. Links are followed. Removes
// temporary files that killed processes left for the same path. Does not check claims
// (file_claims.h).
class Replacement {
 public:
  Replacement() = default;
  Replacement(Replacement&& other) noexcept { *this = std::move(other); }
  Replacement& operator=(Replacement&& other) noexcept;
  ~Replacement();  // removes the temporary file unless it was committed

  // Errors: the system cannot create the file.
  static Result<Replacement> Create(const std::string& path);
  Status Write(std::string_view bytes);
  // Makes the file durable and renames it. Call it once.
  Status Commit();

 private:
  std::string path_, target_, temporary_;  // as given; with links resolved; "" once renamed
  FileHandle file_;
};

// One output of a command. It is opened before the work begins, so that an unwritable path is
// refused early; the file is created by the first Write.
class OutputFile {
 public:
  // An inactive output, for an option that was not given: it accepts everything and writes nothing.
  OutputFile() = default;

  // "" opens an inactive output and "-" standard output. Devices and pipes are written to directly.
  // Errors: those of CheckWritable and OutputClaim.
  static Result<OutputFile> Open(const std::string& path);

  bool active() const { return kind_ != Kind::kNone; }
  const std::string& path() const { return path_; }

  Status Write(std::string_view bytes);
  // Makes the file appear under its name, replacing an existing one. Call it once, last.
  Status Commit();
  // Writes `content` as the whole file and commits it.
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

// A file that grows by whole lines, from which an interrupted run can continue. Only one process at
// a time may write to it.
class AppendedFile {
 public:
  AppendedFile() = default;

  // Changes nothing yet. Errors: those of OutputFile::Open.
  static Result<AppendedFile> Open(const std::string& path);
  // Locks the file until this object or the process ends, and creates it if it is missing. Returns
  // false if another process is writing to it. Lets its earlier lines be read before Begin without
  // another process adding to them. Call it at most once. Errors: the system cannot open the file.
  Result<bool> Lock();
  // Truncates the file to its first `kept` bytes, or creates it; locks it if Lock has not. Call it
  // once. Errors: the system cannot open or truncate the file, or another process is writing to it.
  Status Begin(uint64_t kept);
  // Appends `lines`, all or none of them. REQUIRES: Begin was called.
  Status Append(std::string_view lines);
  // Makes the appended lines durable. REQUIRES: Begin was called.
  Status Sync();

 private:
  std::string path_;
  OutputClaim claim_;
  FileHandle file_;
};

// Writes `content` to `path` so that readers, also after a crash, see the old file or the whole new
// one. Devices and pipes are written to directly. For a process's own state: does not check claims.
Status WriteFileAtomically(const std::string& path, std::string_view content);

// Flushes standard output. Errors: something written to it since the process began was lost.
Status FlushStandardOutput();

// Removes from `folder` the regular files PREFIX<process id>SUFFIX of processes that no longer
// exist. Files of other users stay.
void RemoveLeftovers(const std::string& folder, const std::string& prefix,
                     const std::string& suffix);

}  // namespace foretoken
