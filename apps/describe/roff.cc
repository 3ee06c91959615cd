#include "apps/describe/roff.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstdio>

#include "base/utf8.h"

namespace foretoken {
namespace {

// A quoted argument of a request.
std::string Argument(std::string_view text) { return "\"" + RoffText(text) + "\""; }

std::string Uppercase(std::string_view text) {
  std::string upper(text);
  std::ranges::transform(upper, upper.begin(), [](unsigned char c) { return std::toupper(c); });
  return upper;
}

// Joins text into one line with single spaces, since roff breaks the line before a line with a
// leading space.
std::string Joined(std::string_view text) {
  std::string joined;
  for (const char c : text) {
    const bool is_space = c == ' ' || c == '\n';
    if (!is_space) {
      joined += c;
    } else if (!joined.empty() && joined.back() != ' ') {
      joined += ' ';
    }
  }
  return joined;
}

}  // namespace

std::string RoffText(std::string_view text) {
  std::string escaped;
  for (size_t i = 0; i < text.size();) {
    const size_t length = std::max<size_t>(1, Utf8SequenceLength(text.substr(i)));
    const char c = text[i];
    if (length > 1) {
      char name[16];
      std::snprintf(name, sizeof(name), "\\[u%04X]",
                    static_cast<unsigned>(DecodeUtf8(text.substr(i, length))));
      escaped += name;
    } else {
      switch (c) {
        case '\\':
          escaped += "\\e";
          break;
        case '-':  // a typographic hyphen could not be copied into a shell
          escaped += "\\-";
          break;
        case '\'':
          escaped += "\\(aq";
          break;
        case '"':
          escaped += "\\(dq";
          break;
        case '`':
          escaped += "\\(ga";
          break;
        case '^':
          escaped += "\\(ha";
          break;
        case '~':
          escaped += "\\(ti";
          break;
        default:
          escaped += c;
      }
    }
    i += length;
  }
  return escaped;
}

RoffPage::RoffPage(std::string_view title, std::string_view source) {
  // No date, so that builds are reproducible.
  text_ = ".TH " + Argument(Uppercase(title)) + " 1 \"\" " + Argument(source) + " " +
          Argument("User Commands") + "\n";
}

void RoffPage::Line(std::string_view escaped) {
  if (escaped.starts_with('.')) text_ += "\\&";
  text_.append(escaped) += '\n';
}

void RoffPage::Section(std::string_view heading) {
  text_ += ".SH " + Argument(Uppercase(heading)) + "\n";
  begins_ = true;
}

void RoffPage::Subsection(std::string_view heading) {
  text_ += ".SS " + Argument(heading) + "\n";
  begins_ = true;
}

void RoffPage::BeginParagraph() {
  if (!begins_) text_ += ".PP\n";
  begins_ = false;
}

void RoffPage::Paragraph(std::string_view text) {
  BeginParagraph();
  Line(RoffText(Joined(text)));
}

void RoffPage::NameLine(std::string_view name, std::string_view summary) {
  Line(RoffText(name) + " \\- " + RoffText(Joined(summary)));
}

void RoffPage::Usage(std::string_view bold, std::string_view rest) {
  if (!begins_) text_ += ".br\n";
  begins_ = false;
  Line(Bold(bold) + " " + RoffText(rest));
}

void RoffPage::References(std::span<const std::string> names) {
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + Bold(name) + "(1)";
  Line(list);
}

void RoffPage::Item(std::string_view tag, std::string_view text) {
  text_ += ".TP\n";
  begins_ = false;
  Line(tag);
  Line(text.empty() ? "\\&" : RoffText(Joined(text)));
}

void RoffPage::IndentItems() { text_ += ".RS\n"; }

void RoffPage::OutdentItems() { text_ += ".RE\n"; }

void RoffPage::Verbatim(std::span<const std::string> lines) {
  BeginParagraph();
  text_ += ".nf\n";
  for (const std::string& line : lines) Line(RoffText(line));
  text_ += ".fi\n";
}

std::string RoffPage::Bold(std::string_view text) { return "\\fB" + RoffText(text) + "\\fR"; }

std::string RoffPage::Italic(std::string_view text) { return "\\fI" + RoffText(text) + "\\fR"; }

}  // namespace foretoken
