#include "apps/models/distill_share.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "apps/models/distill_file.h"
#include "apps/models/distill_record.h"
#include "base/json.h"
#include "text/distilled.h"

namespace foretoken {
namespace {

// The plan of a run that this process begins.
Result<PartPlan> NewPlan(const ShareOptions& options, std::span<const TextDocument> documents,
                         const Json& record) {
  Distilled written;
  if (!options.force) {
    FT_ASSIGN_OR_RETURN(written, ReadDistilled(options.output, documents));
  }
  FT_RETURN_IF_ERROR(
      CheckRecord(options.output, /*has_answers=*/written.bytes > 0, record, options.changes));
  return PartPlan{.items = documents.size(),
                  .first = written.next,
                  .kept_bytes = written.bytes,
                  .part_size = options.part_size,
                  .record = JsonText(record)};
}

// The plan of the run that others have begun.
Result<PartPlan> JoinPlan(const ShareOptions& options, std::span<const TextDocument> documents,
                          const Json& record, PartPlan plan, bool others_work) {
  FT_ASSIGN_OR_RETURN(const Json was, ParseJson(plan.record, "the record of the parts"));
  FT_RETURN_IF_ERROR(CompareRecords(options.output, was, record, options.changes, others_work));
  if (plan.items != documents.size()) {
    return Error{options.output + ": was started with " + std::to_string(plan.items) +
                 " conversations, now there are " + std::to_string(documents.size()) +
                 "; keep --data and --limit until all parts are finished"};
  }
  plan.record = JsonText(record);
  return plan;
}

// Continues a part that a process has left.
Status BeginPart(PartFolder::Part& part, size_t& next, std::span<const TextDocument> documents) {
  FT_ASSIGN_OR_RETURN(const Distilled written, ReadDistilled(part.path, documents));
  next = std::max(written.next, part.begin);
  if (next > part.end || (written.bytes > 0 && written.next <= part.begin)) {
    return Error{part.path + ": contains answers of another part; remove the file"};
  }
  return part.file.Begin(written.bytes);
}

}  // namespace

Result<DistillShare> DistillShare::Join(const ShareOptions& options,
                                        std::span<const TextDocument> documents,
                                        const Json& record) {
  const auto prepare = [&](PartFolder::Found found, const PartPlan& plan) {
    if (found == PartFolder::Found::kNothing) return NewPlan(options, documents, record);
    const bool others_work = found == PartFolder::Found::kRunning;
    if (options.force && others_work && !options.quiet) {
      std::fprintf(stderr, "%s: other processes are working on it, so --force has no effect\n",
                   options.output.c_str());
    }
    return JoinPlan(options, documents, record, plan, others_work);
  };
  FT_ASSIGN_OR_RETURN(PartFolder folder, PartFolder::Join(options.output, options.force, prepare));
  return DistillShare(options, documents, std::move(folder));
}

Result<std::optional<size_t>> DistillShare::Next() {
  while (claimed_.empty() || claimed_.back().next == claimed_.back().part->end) {
    FT_ASSIGN_OR_RETURN(const bool claimed, Claim());
    if (!claimed) return std::optional<size_t>();
  }
  return std::optional<size_t>(claimed_.back().next++);
}

// Claims a part. Returns false if there is none.
Result<bool> DistillShare::Claim() {
  FT_ASSIGN_OR_RETURN(std::unique_ptr<PartFolder::Part> part, folder_.Claim());
  if (!part) return false;
  size_t next = 0;
  FT_RETURN_IF_ERROR(BeginPart(*part, next, documents_));
  if (next == part->end) {  // its process ended before it could say so
    FT_RETURN_IF_ERROR(folder_.Finish(std::move(part)));
  } else {
    claimed_.push_back({std::move(part), next});
  }
  return true;
}

Status DistillShare::Keep(size_t index, const Transcript& transcript) {
  PartFolder::Part& part = *claimed_.front().part;
  if (!transcript.empty()) {
    FT_RETURN_IF_ERROR(part.file.Append(DistilledLine(index, transcript)));
  }
  kept_ = index + 1 - part.begin;
  return index + 1 == part.end ? FinishFirst() : Status();
}

Status DistillShare::FinishFirst() {
  FT_RETURN_IF_ERROR(folder_.Finish(std::move(claimed_.front().part)));
  claimed_.pop_front();
  kept_ = 0;
  return {};
}

int64_t DistillShare::done() const {
  return static_cast<int64_t>(folder_.finished_items() + kept_);
}

std::string DistillShare::note() const {
  return std::to_string(folder_.finished_parts()) + " of " + std::to_string(folder_.parts()) +
         " parts";
}

Result<bool> DistillShare::Leave() {
  const PartFolder::Writing writing{
      .check =
          [](const PartFolder::Part& part, std::string_view text) {
            return CheckDistilledPart(part.path, text, part.begin, part.end);
          },
      .prepare = [this](const PartPlan& plan) -> Status {
        FT_ASSIGN_OR_RETURN(const Json record, ParseJson(plan.record, options_.output));
        return WriteRecord(options_.output, record);
      }};
  FT_ASSIGN_OR_RETURN(const PartFolder::Outcome outcome, folder_.Leave(writing));
  const bool has_written = outcome == PartFolder::Outcome::kWritten;
  if (options_.quiet) return has_written;
  const std::string& output = options_.output;
  if (has_written) {
    std::fprintf(stderr, "%s: all parts are finished\n", output.c_str());
  } else if (outcome == PartFolder::Outcome::kOthersWrote) {
    std::fprintf(stderr, "%s: another process has finished the last part\n", output.c_str());
  } else {
    const size_t left = folder_.parts() - folder_.finished_parts();
    std::fprintf(
        stderr,
        "%s: other processes are still answering %zu of %zu parts; the last one writes it\n",
        output.c_str(), left, folder_.parts());
  }
  return has_written;
}

}  // namespace foretoken
