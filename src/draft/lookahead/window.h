// Lookahead's window: guesses of the coming text, each row a Jacobi step better than the one before
// (B-20, B-21). Row a, column c stands for the position a + c after the root's; row 0 begins
// with the root itself. In the tree it is a comb of probes: row 0 is a run below the root, and cell
// (a, c) hangs below cell (a - 1, c), so that it sees just what its mask allows.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "tree/tree_builder.h"

namespace foretoken {

class LookaheadWindow {
 public:
  // `seeds`: what row 0 begins with after the root. With columns + rows - 2 of them the window has
  // `columns` columns once it is full; every pass until then adds a row. REQUIRES: rows >= 1.
  LookaheadWindow(int rows, std::vector<Token> seeds) : rows_(rows), cells_{std::move(seeds)} {}

  bool full() const { return static_cast<int>(cells_.size()) == rows_; }
  // The rows, the root left out of the first.
  std::span<const std::vector<Token>> cells() const { return cells_; }
  std::vector<Token>& newest() { return cells_.back(); }

  // Adds every cell as a probe, or nothing where the limits leave no room.
  void AddTo(TreeBuilder& builder) const;

  // Moves on by one position. `answers`: what the target would write after each node of `tree`.
  // Returns the n-grams that the columns of a full window became, first token first; nothing while
  // it fills. A tree that does not hold the window changes nothing.
  std::vector<std::vector<Token>> Advance(const CandidateTree& tree,
                                          std::span<const Token> answers);

 private:
  // The nodes of the last row in `tree`; nothing if cells are missing.
  std::optional<std::vector<Node>> LastRow(const CandidateTree& tree) const;
  std::vector<std::vector<Token>> Ngrams(Token root, std::span<const Token> last) const;

  int rows_;
  std::vector<std::vector<Token>> cells_;
};

}  // namespace foretoken
