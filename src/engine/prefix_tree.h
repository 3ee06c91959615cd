// Radix tree over token sequences: finds the stored texts that have the longest prefixes in common
// with a given text.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "base/types.h"

namespace foretoken {

// The number of tokens with which both `a` and `b` begin.
size_t CommonTokens(std::span<const Token> a, std::span<const Token> b);

class PrefixTree {
 public:
  // Adds `id` under `text`. Several ids may have the same text.
  void Insert(std::span<const Token> text, int id);
  // REQUIRES: `id` was inserted with `text`.
  void Erase(std::span<const Token> text, int id);

  // Visits every id once, in descending order of the number of leading tokens that its text has in
  // common with `text`, until `visit` returns false.
  using Visitor = std::function<bool(int id, int common)>;
  void Visit(std::span<const Token> text, const Visitor& visit) const;

 private:
  struct Branch {
    std::vector<Token> edge;                         // tokens from the parent branch to here
    std::map<Token, std::unique_ptr<Branch>> below;  // by the first token of their edges
    std::vector<int> ids;                            // of the texts that end here
  };

  static void Split(std::unique_ptr<Branch>& branch, size_t at);
  static bool EraseBelow(Branch& branch, std::span<const Token> text, int id);
  static bool VisitAll(const Branch& branch, int common, const Branch* visited,
                       const Visitor& visit);

  Branch root_;
};

}  // namespace foretoken
