#include "base/part_folder.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "base/json.h"
#include "base/mapped_file.h"
#include "base/writable.h"

namespace foretoken {
namespace {

constexpr const char* kPartState = "state.json";
constexpr const char* kKeptLines = "kept.jsonl";
constexpr std::string_view kPartSuffix = ".jsonl";

// Whether a run has written the file `name` of its folder, the lock excepted. Names of temporary
// files are longer.
bool IsFileOfRun(std::string_view name) {
  if (name.starts_with(kPartState) || name.starts_with(kKeptLines)) return true;
  if (!name.ends_with(kPartSuffix)) return false;
  name.remove_suffix(kPartSuffix.size());
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  return !name.empty() && std::ranges::all_of(name, is_digit);
}

// Reads a field of the state. Returns false if it is missing or not a count.
template <typename Count>
bool ReadCount(const Json& state, const char* name, Count& count) {
  const auto it = state.find(name);
  if (it == state.end() || !it->is_number_unsigned()) return false;
  count = it->get<Count>();
  return true;
}

size_t PartsOf(const PartPlan& plan) {
  const size_t items = plan.items - plan.first;
  return items / plan.part_size + (items % plan.part_size > 0 ? 1 : 0);
}

}  // namespace

PartFolder::PartFolder(const std::string& output)
    : output_path_(output), folder_(FolderOf(output)) {}

bool PartFolder::HasRun(const std::string& output) {
  return FileExists(FolderOf(output) + "/" + kPartState);
}

Result<PartFolder> PartFolder::Join(const std::string& output, bool restart,
                                    const Prepare& prepare) {
  PartFolder run(output);
  FT_ASSIGN_OR_RETURN(const FolderLock::Held held, run.EnterFirst());
  FT_ASSIGN_OR_RETURN(const bool begun, run.ReadState());
  Found found = Found::kNothing;
  if (begun) {
    FT_ASSIGN_OR_RETURN(const bool worked_on, run.IsWorkedOn());
    if (worked_on || !restart) found = worked_on ? Found::kRunning : Found::kStopped;
  }
  Status status = run.OpenOutput();
  if (status.ok()) {
    const Result<PartPlan> plan = prepare(found, run.plan_);
    if (!plan.ok()) status = plan.error();
    if (plan.ok()) status = found == Found::kNothing ? run.Begin(*plan) : run.Update(*plan);
  }
  if (!status.ok()) {
    if (!begun) run.RemoveFolder();
    return status.error();
  }
  FT_ASSIGN_OR_RETURN(run.first_, run.ClaimFree());
  return run;
}

// Opens the folder and waits for its lock, again and again while other processes remove it.
Result<FolderLock::Held> PartFolder::EnterFirst() {
  constexpr int kTries = 100;
  for (int i = 0; i < kTries; ++i) {
    FT_ASSIGN_OR_RETURN(lock_, FolderLock::Open(folder_));
    FT_ASSIGN_OR_RETURN(FolderLock::Held held, lock_.Wait());
    if (held.is_held()) return held;
  }
  return Error{folder_ + ": other processes keep removing it"};
}

// Waits for the lock and reads the state. Holds no lock if the run is over.
Result<FolderLock::Held> PartFolder::Enter() {
  FT_ASSIGN_OR_RETURN(FolderLock::Held held, lock_.Wait());
  if (!held.is_held()) return held;
  FT_ASSIGN_OR_RETURN(const bool begun, ReadState());
  if (!begun) return FolderLock::Held();
  return held;
}

Result<bool> PartFolder::ReadState() {
  const std::string path = PathOf(kPartState);
  if (!FileExists(path)) return false;
  FT_ASSIGN_OR_RETURN(const Json state, ReadJsonFile(path, FileUse::kOwnState));
  const Error damaged{path + ": is not the state of a shared run; remove " + folder_ +
                      " to start over"};
  PartPlan plan;
  const auto record = state.find("record");
  if (record == state.end() || !record->is_string()) return damaged;
  plan.record = record->get<std::string>();
  const bool is_plan = ReadCount(state, "items", plan.items) &&
                       ReadCount(state, "first", plan.first) &&
                       ReadCount(state, "kept_bytes", plan.kept_bytes) &&
                       ReadCount(state, "part_size", plan.part_size);
  if (!is_plan || plan.first > plan.items || plan.part_size == 0) return damaged;
  const auto numbers = state.find("finished");
  if (numbers == state.end() || !numbers->is_array()) return damaged;
  std::set<size_t> finished;
  for (const Json& number : *numbers) {
    if (!number.is_number_unsigned() || number.get<size_t>() >= PartsOf(plan)) return damaged;
    finished.insert(number.get<size_t>());
  }
  plan_ = plan;
  finished_ = std::move(finished);
  return true;
}

Status PartFolder::WriteState() const {
  const Json state = {{"items", plan_.items},           {"first", plan_.first},
                      {"kept_bytes", plan_.kept_bytes}, {"part_size", plan_.part_size},
                      {"record", plan_.record},         {"finished", finished_}};
  return WriteFileAtomically(PathOf(kPartState), JsonText(state) + "\n");
}

Result<bool> PartFolder::IsWorkedOn() const {
  for (size_t number = 0; number < parts(); ++number) {
    const std::string path = RangeOf(number).path;
    if (finished_.contains(number) || !FileExists(path)) continue;
    FT_ASSIGN_OR_RETURN(AppendedFile file, AppendedFile::Open(path));
    FT_ASSIGN_OR_RETURN(const bool is_free, file.Lock());
    if (!is_free) return true;
  }
  return false;
}

Status PartFolder::OpenOutput() {
  if (FileExists(output_path_) && !IsDevice(output_path_)) {
    FT_ASSIGN_OR_RETURN(AppendedFile existing, AppendedFile::Open(output_path_));
    FT_ASSIGN_OR_RETURN(const bool is_free, existing.Lock());
    if (!is_free) return Error{output_path_ + ": another process is writing to it"};
  }
  FT_ASSIGN_OR_RETURN(output_, OutputFile::Open(output_path_));
  return {};
}

// The lines of the output that stay are copied, so that the run no longer depends on the output.
Status PartFolder::Begin(const PartPlan& plan) {
  RemoveResults();
  plan_ = plan;
  finished_.clear();
  if (plan.kept_bytes > 0 && parts() > 0) {
    FT_ASSIGN_OR_RETURN(const MappedFile existing,
                        MappedFile::Open(output_path_, FileUse::kOwnState));
    const std::string_view kept = existing.text().substr(0, plan.kept_bytes);
    FT_RETURN_IF_ERROR(WriteFileAtomically(PathOf(kKeptLines), kept));
  }
  return WriteState();
}

Status PartFolder::Update(const PartPlan& plan) {
  if (plan.record == plan_.record) return {};
  plan_.record = plan.record;
  return WriteState();
}

Result<std::unique_ptr<PartFolder::Part>> PartFolder::Claim() {
  if (first_) return std::move(first_);
  FT_ASSIGN_OR_RETURN(const FolderLock::Held held, Enter());
  if (!held.is_held()) return std::unique_ptr<Part>();
  return ClaimFree();
}

Result<std::unique_ptr<PartFolder::Part>> PartFolder::ClaimFree() {
  for (size_t number = 0; number < parts(); ++number) {
    if (finished_.contains(number) || held_.contains(number)) continue;
    auto part = std::make_unique<Part>(RangeOf(number));
    FT_ASSIGN_OR_RETURN(part->file, AppendedFile::Open(part->path));
    FT_ASSIGN_OR_RETURN(const bool is_free, part->file.Lock());
    if (!is_free) continue;
    held_.insert(number);
    return part;
  }
  return std::unique_ptr<Part>();
}

Status PartFolder::Finish(std::unique_ptr<Part> part) {
  FT_RETURN_IF_ERROR(part->file.Sync());
  FT_ASSIGN_OR_RETURN(const FolderLock::Held held, Enter());
  if (!held.is_held()) {
    return Error{folder_ + ": was removed while this process worked on a part of the run"};
  }
  held_.erase(part->number);
  finished_.insert(part->number);
  return WriteState();
}

Result<PartFolder::Outcome> PartFolder::Leave(const Writing& writing) {
  FT_ASSIGN_OR_RETURN(const FolderLock::Held held, Enter());
  if (!held.is_held()) return Outcome::kOthersWrote;
  if (finished_.size() < parts()) return Outcome::kOthersWork;
  FT_RETURN_IF_ERROR(Merge(writing));
  RemoveFolder();
  return Outcome::kWritten;
}

Status PartFolder::Merge(const Writing& writing) {
  if (parts() == 0 && plan_.kept_bytes > 0) return writing.prepare(plan_);  // is written already
  if (plan_.kept_bytes > 0) {
    FT_ASSIGN_OR_RETURN(const MappedFile kept,
                        MappedFile::Open(PathOf(kKeptLines), FileUse::kOwnState));
    FT_RETURN_IF_ERROR(output_.Write(kept.text()));
  }
  for (size_t number = 0; number < parts(); ++number) {
    FT_RETURN_IF_ERROR(AppendPart(number, writing));
  }
  FT_RETURN_IF_ERROR(writing.prepare(plan_));
  return output_.Commit();
}

Status PartFolder::AppendPart(size_t number, const Writing& writing) {
  const Part part = RangeOf(number);
  const auto file = MappedFile::Open(part.path, FileUse::kOwnState);
  if (!file.ok() && FileExists(part.path)) return file.error();
  const Status status = file.ok() ? writing.check(part, file->text()) : Status(file.error());
  if (status.ok()) return output_.Write(file->text());
  unlink(part.path.c_str());
  finished_.erase(number);
  FT_RETURN_IF_ERROR(WriteState());
  return Error{status.error().message + "; the same command does this part again"};
}

// The state goes first: without it the other files count for nothing.
void PartFolder::RemoveResults() const {
  unlink(PathOf(kPartState).c_str());
  std::error_code fault;
  std::filesystem::directory_iterator entry(folder_, fault);
  for (; !fault && entry != std::filesystem::directory_iterator(); entry.increment(fault)) {
    const std::string name = entry->path().filename().string();
    if (IsFileOfRun(name)) unlink(entry->path().c_str());
  }
}

void PartFolder::RemoveFolder() const {
  RemoveResults();
  lock_.RemoveFolder();
}

PartFolder::Part PartFolder::RangeOf(size_t number) const {
  Part part;
  part.number = number;
  part.begin = plan_.first + number * plan_.part_size;
  part.end = part.begin + std::min(plan_.part_size, plan_.items - part.begin);
  char name[32];
  std::snprintf(name, sizeof(name), "%05zu", number);
  part.path = PathOf(name + std::string(kPartSuffix));
  return part;
}

size_t PartFolder::parts() const { return PartsOf(plan_); }

size_t PartFolder::finished_items() const {
  size_t items = plan_.first;
  for (const size_t number : finished_) {
    const Part part = RangeOf(number);
    items += part.end - part.begin;
  }
  return items;
}

}  // namespace foretoken
