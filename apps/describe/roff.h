// Manual pages in roff, with the macros of man(7).
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace foretoken {

// `text` as roff prints it: backslashes, hyphens that are minus signs, and what else means
// something there or would become a typographic sign. Characters beyond ASCII become escapes. Line
// ends stay.
std::string RoffText(std::string_view text);

// Builds a page. Texts are plain: they are escaped here.
class RoffPage {
 public:
  // `title` of the page, as in "foretoken-serve"; `source` made it, as in "foretoken 0.1.0".
  RoffPage(std::string_view title, std::string_view source);

  void Section(std::string_view heading);
  // What the index of manual pages is made of, under the section NAME.
  void NameLine(std::string_view name, std::string_view summary);
  void Subsection(std::string_view heading);
  // Filled text; line ends in it are spaces.
  void Paragraph(std::string_view text);
  // A line of its own, `bold` before `rest`.
  void Usage(std::string_view bold, std::string_view rest);
  // Other pages of section 1.
  void References(std::span<const std::string> names);
  // A text under a tag, which Bold and Italic made.
  void Item(std::string_view tag, std::string_view text);
  // What follows is under the last item, until OutdentItems.
  void IndentItems();
  void OutdentItems();
  // Lines as they are.
  void Verbatim(std::span<const std::string> lines);

  // For tags: escaped text in a font.
  static std::string Bold(std::string_view text);
  static std::string Italic(std::string_view text);

  const std::string& text() const { return text_; }

 private:
  void BeginParagraph();
  // A line of text, which must not be taken for a request.
  void Line(std::string_view escaped);

  std::string text_;
  bool begins_ = false;  // nothing stands under the heading yet
};

}  // namespace foretoken
