// A run whose output several processes write together, on one machine or on several that have a
// folder in common. Its items are divided into parts, each of which one process at a time works on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "base/folder_lock.h"
#include "base/output_file.h"
#include "base/result.h"

namespace foretoken {

// The division of a run: items [first, items) in parts of `part_size`.
struct PartPlan {
  size_t items = 0;
  size_t first = 0;
  uint64_t kept_bytes = 0;  // of an existing output: the results of the items before `first`
  size_t part_size = 1;
  std::string record;  // what the results depend on, in a form that the caller chooses
};

// The folder OUTPUT.parts, through which the processes of a run find their work:
//   state.json   the plan and the finished parts; replaced as a whole
//   kept.jsonl   the first `kept_bytes` bytes of the output as it was when the run began
//   00012.jsonl  the results of part 12; locked (flock) while a process works on it
//   lock         locked for moments, while a process reads or changes what is above
// The kernel releases the locks of a process that ends in any way, so its parts are free again. The
// file system must carry locks between the machines.
class PartFolder {
 public:
  // A part that this process works on. The lock lasts until the object ends.
  struct Part {
    size_t number = 0;
    size_t begin = 0, end = 0;  // items
    std::string path;
    AppendedFile file;  // locked, not begun: results of a process that was killed may be in it
  };

  // What a process finds when it joins.
  enum class Found : uint8_t {
    kNothing,  // it begins the run
    kStopped,  // an earlier run, on which no process works now
    kRunning,  // other processes work on it
  };
  // Returns the plan of the run: a new one for kNothing, otherwise `plan`, possibly with another
  // record, or an error.
  using Prepare = std::function<Result<PartPlan>(Found found, const PartPlan& plan)>;

  // Joins the run that writes `output`, and claims a part, as Claim does. `restart`: discards what
  // the folder has, unless other processes work on it. While `prepare` runs, no other process
  // joins, claims or finishes. Errors: that of `prepare`; the output cannot be written or another
  // process writes to it; the file system has no locks; the folder has another program's state.
  static Result<PartFolder> Join(const std::string& output, bool restart, const Prepare& prepare);

  // The folder through which a run that writes `output` is shared.
  static std::string FolderOf(const std::string& output) { return output + ".parts"; }
  // Whether a run that writes `output` has been begun and its output not been written.
  static bool HasRun(const std::string& output);

  // Claims the first part that is neither finished nor worked on; null if there is none. Errors:
  // those of the system.
  Result<std::unique_ptr<Part>> Claim();
  // Records that the results of `part` are complete. REQUIRES: its file was begun. Errors: those of
  // the system; the folder was removed meanwhile.
  Status Finish(std::unique_ptr<Part> part);

  enum class Outcome : uint8_t {
    kWritten,      // this process has written the output and removed the folder
    kOthersWork,   // parts are unfinished
    kOthersWrote,  // another process has written the output, or started over
  };
  struct Writing {
    // Says what is wrong with the results `text` of a part, if anything.
    std::function<Status(const Part& part, std::string_view text)> check;
    // Called before the output is replaced.
    std::function<Status(const PartPlan& plan)> prepare;
  };
  // Writes the output if all parts are finished. Call it last. Errors: those of `writing`; a part
  // with a wrong result counts as not finished from then on; those of the system.
  Result<Outcome> Leave(const Writing& writing);

  // As of the last call of one of the functions above.
  size_t parts() const;
  size_t finished_parts() const { return finished_.size(); }
  size_t finished_items() const;  // with those before the first part

 private:
  explicit PartFolder(const std::string& output);
  Result<FolderLock::Held> EnterFirst();
  Result<FolderLock::Held> Enter();
  Result<bool> ReadState();
  Status WriteState() const;
  Result<bool> IsWorkedOn() const;
  Status OpenOutput();
  Status Begin(const PartPlan& plan);
  Status Update(const PartPlan& plan);
  Result<std::unique_ptr<Part>> ClaimFree();
  Status Merge(const Writing& writing);
  Status AppendPart(size_t number, const Writing& writing);
  void RemoveResults() const;
  void RemoveFolder() const;
  std::string PathOf(const std::string& name) const { return folder_ + "/" + name; }
  Part RangeOf(size_t number) const;

  std::string output_path_, folder_;
  FolderLock lock_;
  OutputFile output_;
  PartPlan plan_;
  std::set<size_t> finished_, held_;  // numbers of parts
  std::unique_ptr<Part> first_;       // claimed when joining
};

}  // namespace foretoken
