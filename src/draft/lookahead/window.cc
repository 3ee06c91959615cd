#include "draft/lookahead/window.h"

#include <algorithm>

namespace foretoken {
namespace {

// Calls place(parent, token), which returns a Node, for every cell, row by row. Returns the nodes
// of the last row; those of row 0 begin with the root.
template <typename Place>
std::vector<Node> PlaceCells(std::span<const std::vector<Token>> cells, const Place& place) {
  std::vector<Node> row{0};
  for (const Token token : cells[0]) row.push_back(place(row.back(), token));
  for (const std::vector<Token>& tokens : cells.subspan(1)) {
    row.resize(tokens.size());
    for (size_t c = 0; c < tokens.size(); ++c) row[c] = place(row[c], tokens[c]);
  }
  return row;
}

}  // namespace

void LookaheadWindow::AddTo(TreeBuilder& builder) const {
  size_t probes = 0, depth = 0;
  for (size_t a = 0; a < cells_.size(); ++a) {
    probes += cells_[a].size();
    depth = std::max(depth, a == 0 ? cells_[a].size() : a + cells_[a].size() - 1);
  }
  if (static_cast<int>(probes) > builder.ProbeRoom() ||
      static_cast<int>(depth) > builder.limits().max_depth) {
    return;
  }
  PlaceCells(cells_, [&](Node parent, Token token) { return builder.AddProbe(parent, token); });
}

std::optional<std::vector<Node>> LookaheadWindow::LastRow(const CandidateTree& tree) const {
  bool is_complete = true;
  std::vector<Node> row = PlaceCells(cells_, [&](Node parent, Token token) {
    const Node node = is_complete ? tree.Child(parent, token) : kNoNode;
    is_complete = node != kNoNode;
    return node;
  });
  if (!is_complete) return std::nullopt;
  return row;
}

std::vector<std::vector<Token>> LookaheadWindow::Ngrams(Token root,
                                                        std::span<const Token> new_row) const {
  std::vector<std::vector<Token>> ngrams;
  ngrams.reserve(new_row.size());
  for (size_t c = 0; c < new_row.size(); ++c) {
    std::vector<Token> ngram{c == 0 ? root : cells_[0][c - 1]};
    for (size_t a = 1; a < cells_.size(); ++a) ngram.push_back(cells_[a][c]);
    ngram.push_back(new_row[c]);
    ngrams.push_back(std::move(ngram));
  }
  return ngrams;
}

std::vector<std::vector<Token>> LookaheadWindow::Advance(const CandidateTree& tree,
                                                         std::span<const Token> choices) {
  const std::optional<std::vector<Node>> row = LastRow(tree);
  if (!row) return {};
  FT_CHECK(choices.size() == static_cast<size_t>(tree.size()));
  std::vector<Token> new_row;
  new_row.reserve(row->size());
  for (const Node n : *row) new_row.push_back(choices[static_cast<size_t>(n)]);
  if (full()) {
    std::vector<std::vector<Token>> ngrams = Ngrams(tree.token(0), new_row);
    cells_.push_back(std::move(new_row));
    cells_.erase(cells_.begin());
    cells_[0].erase(cells_[0].begin());
    return ngrams;
  }
  new_row.erase(new_row.begin());
  for (std::vector<Token>& tokens : cells_) tokens.erase(tokens.begin());
  cells_.push_back(std::move(new_row));
  return {};
}

}  // namespace foretoken
