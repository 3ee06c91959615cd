#include "apps/describe/footer.h"

#include <algorithm>
#include <cctype>

namespace foretoken {
namespace {

constexpr std::string_view kExamplesHeading = "Examples:", kStatusHeading = "Exit status:";

// Whether a line is indented or has columns.
bool IsVerbatimLine(std::string_view line) {
  return line.starts_with(' ') || line.find("  ") != line.npos;
}

bool IsCommandParagraph(const std::vector<std::string>& lines) {
  return std::ranges::all_of(lines, [](const std::string& l) { return l.starts_with(' '); }) &&
         lines[0].find_first_not_of(' ') == lines[0].find("foretoken ");
}

void AddNotes(const std::vector<std::string>& lines, std::vector<FooterBlock>& notes) {
  bool is_first = true;
  for (const std::string& line : lines) {
    const bool is_verbatim = IsVerbatimLine(line);
    if (is_first || notes.back().is_verbatim != is_verbatim) notes.push_back({{}, is_verbatim});
    notes.back().lines.push_back(line);
    is_first = false;
  }
}

void AddParagraph(std::vector<std::string> lines, Footer& footer) {
  if (lines.empty()) return;
  if (lines[0] == kExamplesHeading || IsCommandParagraph(lines)) {
    const auto begin = lines.begin() + (lines[0] == kExamplesHeading ? 1 : 0);
    footer.examples.insert(footer.examples.end(), begin, lines.end());
  } else if (lines[0].starts_with(kStatusHeading)) {
    std::string text;
    for (const std::string& line : lines) text += line + " ";
    footer.exit_statuses = ReadExitStatuses(text.substr(kStatusHeading.size()));
  } else {
    AddNotes(lines, footer.notes);
  }
}

bool IsDigit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

}  // namespace

std::vector<std::string> LinesOf(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

Footer ReadFooter(std::string_view text) {
  Footer footer;
  std::vector<std::string> paragraph;
  for (std::string& line : LinesOf(text)) {
    if (line.find_first_not_of(' ') != line.npos) {
      paragraph.push_back(std::move(line));
      continue;
    }
    AddParagraph(std::exchange(paragraph, {}), footer);
  }
  AddParagraph(std::move(paragraph), footer);
  return footer;
}

std::vector<std::pair<std::string, std::string>> ReadExitStatuses(std::string_view text) {
  std::vector<std::pair<std::string, std::string>> statuses;
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(", "), text.size()));
    if (text.empty() || !IsDigit(text[0])) return statuses;
    const size_t digits = std::min(text.find(' '), text.size());
    // The next status follows a comma; commas within a meaning are followed by words.
    size_t end = text.find(", ", digits);
    while (end != text.npos && !(end + 2 < text.size() && IsDigit(text[end + 2])))
      end = text.find(", ", end + 1);
    std::string meaning(text.substr(digits, end == text.npos ? end : end - digits));
    meaning.erase(0, std::min(meaning.find_first_not_of(' '), meaning.size()));
    meaning.resize(meaning.find_last_not_of(". ") + 1);
    statuses.emplace_back(text.substr(0, digits), std::move(meaning));
    if (end == text.npos) return statuses;
    text.remove_prefix(end);
  }
}

}  // namespace foretoken
