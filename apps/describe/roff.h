// Writer of manual pages in roff, with the macros of man(7).
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace foretoken {

// Escapes `text` for roff: backslashes, hyphens that are minus signs, and other characters that are
// special or would become typographic signs. Characters beyond ASCII become escapes. Line ends are
// kept.
std::string RoffText(std::string_view text);

// Builds a page. Takes plain texts and escapes them.
class RoffPage {
 public:
  // `title`: title of the page, as in "foretoken-serve". `source`: the program, as in "foretoken
  // 0.1.0".
  RoffPage(std::string_view title, std::string_view source);

  void Section(std::string_view heading);
  // The line under the section NAME from which the index of manual pages is built.
  void NameLine(std::string_view name, std::string_view summary);
  void Subsection(std::string_view heading);
  // A reflowed paragraph; line ends count as spaces.
  void Paragraph(std::string_view text);
  // A separate line with `bold` before `rest`.
  void Usage(std::string_view bold, std::string_view rest);
  // References to other pages of section 1.
  void References(std::span<const std::string> names);
  // A text under a tag made by Bold and Italic.
  void Item(std::string_view tag, std::string_view text);
  // Indents what follows under the last item, until OutdentItems.
  void IndentItems();
  void OutdentItems();
  // Lines printed verbatim.
  void Verbatim(std::span<const std::string> lines);

  // Escaped text in a font, for tags.
  static std::string Bold(std::string_view text);
  static std::string Italic(std::string_view text);

  const std::string& text() const { return text_; }

 private:
  void BeginParagraph();
  // Adds a line of text, protected from being interpreted as a request.
  void Line(std::string_view escaped);

  std::string text_;
  bool begins_ = false;  // no text has been added under the heading yet
};

}  // namespace foretoken
