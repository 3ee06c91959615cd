// A radix tree over tokens: which of many texts share the longest beginning with another.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "base/types.h"

namespace foretoken {

class PrefixTree {
 public:
  // Several ids may have one text.
  void Insert(std::span<const Token> text, int id);
  // REQUIRES: inserted with that text.
  void Erase(std::span<const Token> text, int id);

  // Visits every id once with the number of leading tokens that its text shares with `text`, those
  // with the most first, until `visit` returns false.
  using Visitor = std::function<bool(int id, int common)>;
  void Visit(std::span<const Token> text, const Visitor& visit) const;

 private:
  struct Branch {
    std::vector<Token> edge;                         // tokens that lead here from the branch above
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
