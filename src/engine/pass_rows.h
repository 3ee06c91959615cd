// How the rows of a pass are divided: who takes part, and how much of which prompt is read.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace foretoken {

// What a session wants of a pass.
struct RowRequest {
  int unread = 0;       // tokens of its prompt that one chunk may hold; 0: it writes
  uint64_t begun = 0;   // prompts are read in this order
  uint64_t served = 0;  // the last pass that it took part in

  bool reads() const { return unread > 0; }
};

struct RowPlan {
  std::vector<bool> writes;  // [requests] whether it gets the row of its root
  int roots = 0;             // rows of those that write
  int chunks = 0;            // rows of prompts, if there are no nodes
  int nodes = 0;             // rows that nodes may take, of those for prompts as well
};

// Every session that writes gets its root's row. Where prompts are read, at least half of the rows
// beyond the roots are theirs, and one row of every pass is. Where there are more sessions than
// rows, those that waited longest take part, the oldest prompt like a session that writes.
// REQUIRES: budget >= 1.
RowPlan PlanRows(std::span<const RowRequest> requests, int budget);

// [requests] rows of each prompt, of `rows` in all: the oldest prompts first, so that they end
// first.
std::vector<int> DivideAmongPrompts(std::span<const RowRequest> requests, int rows);

}  // namespace foretoken
