#include "engine/pass_rows.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "base/check.h"

namespace foretoken {
namespace {

// Indices of the requests that compete for rows, longest wait first: all that write, and the oldest
// prompt.
std::vector<size_t> Waiting(std::span<const RowRequest> requests) {
  std::vector<size_t> waiting;
  const RowRequest* oldest = nullptr;
  for (size_t r = 0; r < requests.size(); ++r) {
    if (!requests[r].reads()) {
      waiting.push_back(r);
    } else if (oldest == nullptr || requests[r].begun < oldest->begun) {
      oldest = &requests[r];
    }
  }
  if (oldest != nullptr) waiting.push_back(static_cast<size_t>(oldest - requests.data()));
  std::ranges::stable_sort(waiting, {}, [&](size_t r) { return requests[r].served; });
  return waiting;
}

}  // namespace

RowPlan PlanRows(std::span<const RowRequest> requests, int budget) {
  FT_CHECK(budget >= 1);
  RowPlan plan{.writes = std::vector<bool>(requests.size(), false)};
  std::vector<size_t> served = Waiting(requests);
  served.resize(std::min(served.size(), static_cast<size_t>(budget)));
  bool reads = false;
  for (const size_t r : served) {
    plan.writes[r] = !requests[r].reads();
    plan.roots += plan.writes[r] ? 1 : 0;
    reads = reads || requests[r].reads();
  }
  const int left = budget - plan.roots;
  if (reads) {
    int64_t unread = 0;
    for (const RowRequest& request : requests) unread += request.unread;
    plan.chunks = static_cast<int>(std::min<int64_t>(left, unread));
  }
  plan.nodes = left - std::min(plan.chunks, (left + 1) / 2);
  return plan;
}

std::vector<int> DivideAmongPrompts(std::span<const RowRequest> requests, int rows) {
  std::vector<size_t> order(requests.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, {}, [&](size_t r) { return requests[r].begun; });
  std::vector<int> chunks(requests.size(), 0);
  for (const size_t r : order) {
    chunks[r] = std::min(requests[r].unread, rows);
    rows -= chunks[r];
  }
  return chunks;
}

}  // namespace foretoken
