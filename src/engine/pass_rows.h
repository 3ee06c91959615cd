// Division of a pass's rows between sessions that write and prompts that are read.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace foretoken {

// What a session needs from a pass: rows for its prompt, or a row for its root.
struct RowRequest {
  int unread = 0;       // prompt tokens that its next chunk may hold; 0: it writes
  uint64_t begun = 0;   // order of prompts: lower numbers are read first
  uint64_t served = 0;  // number of the last pass that it took part in

  bool reads() const { return unread > 0; }
};

struct RowPlan {
  std::vector<bool> writes;  // [requests] whether the session gets a row for its root
  int roots = 0;             // count of rows for roots
  int chunks = 0;            // prompt rows if no node is scored
  int nodes = 0;             // maximum number of nodes; they take rows from `chunks`
};

// Plans the rows of a pass. Every session that writes gets a row for its root. If prompts are read,
// they get at least half of the rows beyond the roots, and at least one row. If there are more
// sessions than rows, those that have waited longest take part. Of the prompts, only the oldest
// competes. REQUIRES: budget >= 1.
RowPlan PlanRows(std::span<const RowRequest> requests, int budget);

// Returns [requests] the rows of each prompt, `rows` in all. Older prompts come first, so that they
// finish first.
std::vector<int> DivideAmongPrompts(std::span<const RowRequest> requests, int rows);

}  // namespace foretoken
