// Memory of an arena is zeroed, aligned and not shared. It lives as long as it is held.
#include "backend/cpu/page_arena.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

namespace foretoken {
namespace {

struct Piece {
  std::shared_ptr<std::byte> memory;
  size_t bytes;
};

TEST(PageArena, AllocationsAreZeroedAlignedAndDisjoint) {
  std::optional<PageArena> arena(std::in_place);
  std::vector<Piece> pieces;
  for (size_t bytes : {size_t{1}, size_t{64}, size_t{65}, size_t{30} << 20, size_t{40} << 20,
                       size_t{100} << 20, size_t{4096}}) {
    pieces.push_back({arena->Allocate(bytes), bytes});
    std::byte* const begin = pieces.back().memory.get();
    ASSERT_NE(begin, nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(begin) % 64, 0u);
    EXPECT_EQ(std::count(begin, begin + bytes, std::byte{0}), static_cast<ptrdiff_t>(bytes));
    std::memset(begin, static_cast<int>(pieces.size()), bytes);
  }
  arena.reset();  // the pieces outlive the arena
  for (size_t i = 0; i < pieces.size(); ++i) {
    const std::byte* const begin = pieces[i].memory.get();
    EXPECT_EQ(std::count(begin, begin + pieces[i].bytes, static_cast<std::byte>(i + 1)),
              static_cast<ptrdiff_t>(pieces[i].bytes));
  }
}

// A request beyond the system's memory gives null, and the arena remains usable.
TEST(PageArena, TooLargeARequestReturnsNull) {
  PageArena arena;
  EXPECT_EQ(arena.Allocate(size_t{1} << 62), nullptr);
  EXPECT_NE(arena.Allocate(64), nullptr);
}

}  // namespace
}  // namespace foretoken
