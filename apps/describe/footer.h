// Parser of the end of --help: prose, examples and exit statuses, recognised by their format.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace foretoken {

// The lines of a text, without line ends.
std::vector<std::string> LinesOf(std::string_view text);

struct FooterBlock {
  std::vector<std::string> lines;
  bool is_verbatim = false;  // commands or a table, not to be reflowed
};

struct Footer {
  std::vector<FooterBlock> notes;
  std::vector<std::string> examples;                               // lines of the examples
  std::vector<std::pair<std::string, std::string>> exit_statuses;  // number and meaning
};

// Paragraphs are separated by empty lines. A paragraph that begins with "Examples:", or that has
// only indented commands, contains examples; one that begins with "Exit status:" contains the
// statuses.
Footer ReadFooter(std::string_view text);

// Parses "0 done, 1 failed" into pairs.
std::vector<std::pair<std::string, std::string>> ReadExitStatuses(std::string_view text);

}  // namespace foretoken
