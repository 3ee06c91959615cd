// Tests of the division of a pass's rows between sessions that write and prompts that are read.
#include "engine/pass_rows.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/rng.h"

namespace foretoken {
namespace {

int Random(uint64_t run, uint64_t what, int below) {
  return static_cast<int>(Mix(Mix(run) ^ what) % static_cast<uint64_t>(below));
}

std::vector<RowRequest> RandomRequests(uint64_t run) {
  std::vector<RowRequest> requests(static_cast<size_t>(1 + Random(run, 1, 12)));
  for (size_t r = 0; r < requests.size(); ++r) {
    const bool reads = Random(run, 100 + r, 3) == 0;
    requests[r].unread = reads ? 1 + Random(run, 200 + r, 40) : 0;
    requests[r].begun = static_cast<uint64_t>(Random(run, 300 + r, 1000));
    requests[r].served = static_cast<uint64_t>(Random(run, 400 + r, 5));
  }
  return requests;
}

TEST(PassRows, RootsComeFirstAndNothingExceedsTheBudget) {
  for (uint64_t run = 0; run < 2000; ++run) {
    const auto requests = RandomRequests(run);
    const int budget = 1 + Random(run, 2, 30);
    const auto writing = static_cast<int>(
        std::ranges::count_if(requests, [](const RowRequest& r) { return !r.reads(); }));
    const bool reads = writing < std::ssize(requests);
    const RowPlan plan = PlanRows(requests, budget);
    EXPECT_EQ(std::ranges::count(plan.writes, true), plan.roots);
    EXPECT_GT(plan.roots + plan.chunks, 0);
    EXPECT_LE(plan.roots + plan.nodes, budget);
    EXPECT_LE(plan.roots + plan.chunks, budget);
    if (writing + (reads ? 1 : 0) <= budget) {
      EXPECT_EQ(plan.roots, writing);
      EXPECT_EQ(plan.chunks > 0, reads);
    }
    // However many nodes there are, a prompt that takes part gets at least one row.
    EXPECT_TRUE(plan.chunks == 0 || plan.roots + plan.nodes < budget);
  }
}

TEST(PassRows, NodesLeavePromptsHalfOfTheRest) {
  const std::vector<RowRequest> requests = {{}, {}, {.unread = 1000}};
  const RowPlan plan = PlanRows(requests, 22);
  EXPECT_EQ(plan.roots, 2);
  EXPECT_EQ(plan.chunks, 20);
  EXPECT_EQ(plan.nodes, 10);
  const std::vector<RowRequest> few = {{}, {}, {.unread = 3}};
  EXPECT_EQ(PlanRows(few, 22).nodes, 17);
}

TEST(PassRows, TheOldestPromptIsReadFirst) {
  const std::vector<RowRequest> requests = {
      {.unread = 5, .begun = 9}, {}, {.unread = 7, .begun = 2}, {.unread = 4, .begun = 4}};
  EXPECT_EQ(DivideAmongPrompts(requests, 9), (std::vector<int>{0, 0, 7, 2}));
  EXPECT_EQ(DivideAmongPrompts(requests, 40), (std::vector<int>{5, 0, 7, 4}));
}

// With more sessions than rows, no session waits longer than one round of all sessions.
TEST(PassRows, NoSessionWaitsLongerThanARound) {
  for (int budget = 1; budget <= 4; ++budget) {
    std::vector<RowRequest> requests(7);
    requests[3].unread = requests[5].unread = 1 << 20;
    requests[3].begun = 1, requests[5].begun = 2;
    for (uint64_t pass = 1; pass <= 60; ++pass) {
      const RowPlan plan = PlanRows(requests, budget);
      for (size_t r = 0; r < requests.size(); ++r) {
        const bool takes_part = requests[r].reads() ? r == 3 && plan.chunks > 0 : plan.writes[r];
        if (takes_part) requests[r].served = pass;
      }
      for (size_t r = 0; pass > 6 && r < requests.size(); ++r) {
        EXPECT_TRUE(r == 5 || requests[r].served + 6 > pass) << r << " waits, budget " << budget;
      }
    }
  }
}

}  // namespace
}  // namespace foretoken
