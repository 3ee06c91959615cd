// The test cases published with a vocabulary: texts, and the token ids that llama.cpp gives them.
#pragma once

#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/types.h"

namespace foretoken {

struct VocabCase {
  std::string text;
  std::vector<Token> ids;
};

inline std::string ReadWhole(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The parts of `text` between occurrences of `mark`: one more than there are occurrences.
inline std::vector<std::string> SplitAt(const std::string& text, std::string_view mark) {
  std::vector<std::string> parts;
  size_t begin = 0;
  for (size_t end; (end = text.find(mark, begin)) != std::string::npos; begin = end + mark.size()) {
    parts.push_back(text.substr(begin, end - begin));
  }
  parts.push_back(text.substr(begin));
  return parts;
}

// Reads PATH.inp (texts separated by lines with a mark) and PATH.out (one line of ids for each).
// Empty if their numbers differ.
inline std::vector<VocabCase> ReadVocabCases(const std::string& path) {
  const std::vector<std::string> texts =
      SplitAt(ReadWhole(path + ".inp"), "\n__ggml_vocab_test__\n");
  const std::vector<std::string> lines = SplitAt(ReadWhole(path + ".out"), "\n");
  std::vector<VocabCase> cases;
  for (size_t i = 0; i < texts.size() && texts.size() == lines.size(); ++i) {
    VocabCase& next = cases.emplace_back();
    next.text = texts[i];
    std::istringstream ids(lines[i]);
    for (Token id; ids >> id;) next.ids.push_back(id);
  }
  return cases;
}

}  // namespace foretoken
