// Lookahead's window: guesses of the coming text, each row one Jacobi iteration further than the
// row above (B-20, B-21). The cell in row a and column c stands for the position a + c after the
// root's; row 0 begins with the root itself. In the tree the window is a comb of probes: row 0 is a
// run below the root, and cell (a, c) is a child of cell (a - 1, c), so that it attends to exactly
// the cells that the window's mask shows it.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "tree/tree_builder.h"

namespace foretoken {

class LookaheadWindow {
 public:
  // `seeds`: the tokens of row 0 after the root. Every pass adds a row until the window is full.
  // With C + rows - 2 seeds, the full window has C columns. REQUIRES: rows >= 1, C >= 1.
  LookaheadWindow(int rows, std::vector<Token> seeds) : rows_(rows), cells_{std::move(seeds)} {}

  bool full() const { return static_cast<int>(cells_.size()) == rows_; }
  // The tokens by row; row 0 leaves out the root.
  std::span<const std::vector<Token>> cells() const { return cells_; }
  std::vector<Token>& newest() { return cells_.back(); }

  // Adds every cell as a probe, or nothing if the limits leave too little room.
  void AddTo(TreeBuilder& builder) const;

  // Moves on by one position. `choices`: the token that the target would write after each node of
  // `tree`. Returns the n-grams in the columns of a full window, first token first, and nothing
  // while the window fills. Does nothing if `tree` does not hold the window.
  std::vector<std::vector<Token>> Advance(const CandidateTree& tree,
                                          std::span<const Token> choices);

 private:
  // The nodes of the last row in `tree`; nothing if cells are missing.
  std::optional<std::vector<Node>> LastRow(const CandidateTree& tree) const;
  std::vector<std::vector<Token>> Ngrams(Token root, std::span<const Token> new_row) const;

  int rows_;
  std::vector<std::vector<Token>> cells_;
};

}  // namespace foretoken
