#include "text/merge_table.h"

#include <array>
#include <bit>
#include <queue>
#include <tuple>

#include "base/check.h"

namespace foretoken {
namespace {

constexpr uint64_t kFree = ~uint64_t{0};  // no pair of non-negative ids has this key
constexpr int32_t kNever = INT32_MAX;
constexpr size_t kShort = 32;  // up to this length a scan per merge is faster than a heap

uint64_t KeyOf(Token left, Token right) {
  return uint64_t{static_cast<uint32_t>(left)} << 32 | static_cast<uint32_t>(right);
}

struct Symbol {
  Token id;
  int32_t previous, next;  // neighbours; -1 at the ends
};

// A queued merge. It is stale if the symbols have changed since.
struct Candidate {
  int32_t rank, at, next;
  Token left, right, result;
  bool operator>(const Candidate& other) const {
    return std::tie(rank, at) > std::tie(other.rank, other.at);
  }
};

}  // namespace

MergeTable::MergeTable(size_t expected_merges)
    : slots_(std::bit_ceil(2 * expected_merges + 16), Slot{kFree, {}}) {}

size_t MergeTable::FirstSlot(uint64_t key) const {
  uint64_t hash = key * 0x9E3779B97F4A7C15ull;
  hash ^= hash >> 32;
  return hash & (slots_.size() - 1);
}

void MergeTable::Grow() {
  std::vector<Slot> old(slots_.size() * 2, Slot{kFree, {}});
  old.swap(slots_);
  for (const Slot& slot : old) {
    if (slot.key == kFree) continue;
    size_t i = FirstSlot(slot.key);
    while (slots_[i].key != kFree) i = (i + 1) & (slots_.size() - 1);
    slots_[i] = slot;
  }
}

void MergeTable::Add(Token left, Token right, Merge merge) {
  FT_CHECK(left >= 0 && right >= 0 && merge.result >= 0);
  if (2 * (used_ + 1) > slots_.size()) Grow();
  const uint64_t key = KeyOf(left, right);
  size_t i = FirstSlot(key);
  while (slots_[i].key != kFree && slots_[i].key != key) i = (i + 1) & (slots_.size() - 1);
  if (slots_[i].key == kFree) {
    slots_[i] = {key, merge};
    ++used_;
  } else if (merge.rank < slots_[i].merge.rank) {
    slots_[i].merge = merge;
  }
}

const MergeTable::Merge* MergeTable::Find(Token left, Token right) const {
  const uint64_t key = KeyOf(left, right);
  if (key == kFree) return nullptr;
  for (size_t i = FirstSlot(key);; i = (i + 1) & (slots_.size() - 1)) {
    if (slots_[i].key == key) return &slots_[i].merge;
    if (slots_[i].key == kFree) return nullptr;
  }
}

void MergeTable::Apply(std::vector<Token>& symbols) const {
  if (symbols.size() <= kShort) {
    ApplyShort(symbols);
  } else {
    ApplyLong(symbols);
  }
}

void MergeTable::ApplyShort(std::vector<Token>& symbols) const {
  std::array<Merge, kShort> merges;  // merges[i]: the merge of symbols i and i + 1
  const auto look_up = [&](size_t i) {
    const Merge* merge = Find(symbols[i], symbols[i + 1]);
    merges[i] = merge == nullptr ? Merge{kNever, kNoToken} : *merge;
  };
  size_t n = symbols.size();
  for (size_t i = 0; i + 1 < n; ++i) look_up(i);
  while (n > 1) {
    size_t best = 0;
    for (size_t i = 1; i + 1 < n; ++i) {
      if (merges[i].rank < merges[best].rank) best = i;
    }
    if (merges[best].rank == kNever) break;
    symbols[best] = merges[best].result;
    for (size_t i = best + 1; i + 1 < n; ++i) {
      symbols[i] = symbols[i + 1];
      merges[i] = merges[i + 1];
    }
    --n;
    if (best > 0) look_up(best - 1);
    if (best + 1 < n) look_up(best);
  }
  symbols.resize(n);
}

void MergeTable::ApplyLong(std::vector<Token>& symbols) const {
  FT_CHECK(symbols.size() < INT32_MAX);
  const int32_t n = static_cast<int32_t>(symbols.size());
  std::vector<Symbol> chain(n);
  for (int32_t i = 0; i < n; ++i) chain[i] = {symbols[i], i - 1, i + 1 < n ? i + 1 : -1};

  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> queue;
  const auto offer = [&](int32_t at) {
    const int32_t next = at < 0 ? -1 : chain[at].next;
    if (next < 0) return;
    const Merge* merge = Find(chain[at].id, chain[next].id);
    if (merge == nullptr) return;
    queue.push({merge->rank, at, next, chain[at].id, chain[next].id, merge->result});
  };
  for (int32_t i = 0; i < n; ++i) offer(i);
  while (!queue.empty()) {
    const Candidate c = queue.top();
    queue.pop();
    Symbol& left = chain[c.at];
    if (left.id != c.left || left.next != c.next || chain[c.next].id != c.right) continue;
    left.id = c.result;
    left.next = chain[c.next].next;
    chain[c.next].id = kNoToken;
    if (left.next >= 0) chain[left.next].previous = c.at;
    offer(left.previous);
    offer(c.at);
  }
  symbols.clear();
  for (int32_t i = 0; i >= 0; i = chain[i].next) symbols.push_back(chain[i].id);
}

}  // namespace foretoken
