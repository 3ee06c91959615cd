// Answers to one data set by several processes (`foretoken distill --share`): each answers parts of
// consecutive conversations, and the last one writes the output that one process alone would write.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "apps/models/distill_task.h"
#include "base/json_fwd.h"
#include "base/part_folder.h"
#include "base/result.h"
#include "text/documents.h"

namespace foretoken {

struct ShareOptions {
  std::string output;
  size_t part_size = 64;             // conversations of a part, for the process that begins
  std::vector<std::string> changes;  // as for CheckRecord
  bool force = false;                // start over, unless other processes are working on it
  bool quiet = false;
};

// This process's share of the work.
class DistillShare : public DistillTask {
 public:
  // Joins the run that writes `options.output`, or begins it; continues the answers that the output
  // has. `documents` must outlive this. Errors: the run has another record or another number of
  // documents; those of ReadDistilled and PartFolder::Join.
  static Result<DistillShare> Join(const ShareOptions& options,
                                   std::span<const TextDocument> documents, const Json& record);

  Result<std::optional<size_t>> Next() override;
  Status Keep(size_t index, const Transcript& transcript) override;
  int64_t done() const override;
  std::string note() const override;

  // Writes the output if no part is left, and says so, or what others still do, on stderr. Returns
  // whether this process has written it. Call it last, unless the work was stopped. Errors: those
  // of PartFolder::Leave.
  Result<bool> Leave();

 private:
  // A part in progress.
  struct Claimed {
    std::unique_ptr<PartFolder::Part> part;
    size_t next;  // the next conversation to answer
  };

  DistillShare(const ShareOptions& options, std::span<const TextDocument> documents,
               PartFolder folder)
      : options_(options), documents_(documents), folder_(std::move(folder)) {}
  Result<bool> Claim();
  Status FinishFirst();

  ShareOptions options_;
  std::span<const TextDocument> documents_;
  PartFolder folder_;
  std::deque<Claimed> claimed_;  // in the order of their conversations
  size_t kept_ = 0;              // conversations of the first part in progress that were kept
};

}  // namespace foretoken
