// What --help ends with, taken apart: prose, examples and exit statuses, told by how they are
// written.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace foretoken {

// The lines of a text, without their ends.
std::vector<std::string> LinesOf(std::string_view text);

struct FooterBlock {
  std::vector<std::string> lines;
  bool is_verbatim = false;  // commands or a table, not to be filled
};

struct Footer {
  std::vector<FooterBlock> notes;
  std::vector<std::string> examples;                               // their lines
  std::vector<std::pair<std::string, std::string>> exit_statuses;  // number and meaning
};

// Paragraphs stand apart by empty lines. One that begins with "Examples:", or that has nothing but
// indented commands, is of examples; one that begins with "Exit status:" has the statuses.
Footer ReadFooter(std::string_view text);

// "0 done, 1 failed" as pairs.
std::vector<std::pair<std::string, std::string>> ReadExitStatuses(std::string_view text);

}  // namespace foretoken
