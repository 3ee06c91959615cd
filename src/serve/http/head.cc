#include "serve/http/head.h"

#include <algorithm>
#include <utility>

#include "base/hex.h"

namespace foretoken {
namespace {

using std::string_view;

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

bool IsToken(string_view text) {
  return !text.empty() && std::ranges::all_of(text, IsTokenCharacter);
}

bool IsControl(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (byte < 0x20 && c != '\t') || byte == 0x7f;
}

string_view Trimmed(string_view text) {
  const size_t begin = text.find_first_not_of(" \t");
  if (begin == string_view::npos) return "";
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

// Whether a comma-separated list contains `item`, ignoring case.
bool ListHas(string_view list, string_view item) {
  while (!list.empty()) {
    const size_t comma = std::min(list.find(','), list.size());
    if (EqualsIgnoringCase(Trimmed(list.substr(0, comma)), item)) return true;
    list.remove_prefix(std::min(list.size(), comma + 1));
  }
  return false;
}

// Decodes percent escapes; invalid ones are left unchanged.
std::string Decoded(string_view text) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool may_be_escape = text[i] == '%' && i + 2 < text.size();
    const int high = may_be_escape ? HexDigitValue(text[i + 1]) : -1;
    const int low = may_be_escape ? HexDigitValue(text[i + 2]) : -1;
    if (high < 0 || low < 0) {
      decoded += text[i];
    } else {
      decoded += static_cast<char>(high * 16 + low);
      i += 2;
    }
  }
  return decoded;
}

// Removes scheme and authority from an absolute target and returns the authority, which replaces
// Host.
std::optional<std::string> TakeAuthority(string_view* target) {
  for (const string_view scheme : {"http://", "https://"}) {
    if (!EqualsIgnoringCase(target->substr(0, scheme.size()), scheme)) continue;
    target->remove_prefix(scheme.size());
    const size_t end = std::min(target->find_first_of("/?"), target->size());
    std::string authority(target->substr(0, end));
    target->remove_prefix(end);
    return authority;
  }
  return std::nullopt;
}

std::optional<HttpRefusal> ParseVersion(string_view version, RequestHead* head) {
  const bool is_version = version.size() == 8 && version.starts_with("HTTP/") &&
                          IsDigit(version[5]) && version[6] == '.' && IsDigit(version[7]);
  if (!is_version) return Malformed("The request line does not end with an HTTP version.");
  if (version[5] != '1') {
    return Refuse(505, "version_not_supported", "This server speaks HTTP/1.1.");
  }
  head->is_http_1_0 = version[7] == '0';
  return std::nullopt;
}

std::optional<HttpRefusal> ParseRequestLine(string_view line, RequestHead* head) {
  const size_t first = line.find(' ');
  const size_t last = line.rfind(' ');
  if (first == string_view::npos || first == last) {
    return Malformed("The request line is not METHOD TARGET VERSION.");
  }
  head->method = line.substr(0, first);
  string_view target = line.substr(first + 1, last - first - 1);
  if (!IsToken(head->method)) return Malformed("The method is not a token.");
  if (auto refusal = ParseVersion(line.substr(last + 1), head)) return refusal;
  const auto is_bad = [](char c) { return c == ' ' || c == '\t' || IsControl(c); };
  if (target.empty() || std::ranges::any_of(target, is_bad)) {
    return Malformed("The request target is not a path.");
  }
  if (auto authority = TakeAuthority(&target)) {
    head->headers.emplace_back("host", *std::move(authority));
  } else if (!target.starts_with('/') && target != "*") {
    return Malformed("The request target is not a path.");
  }
  head->path = Decoded(target.substr(0, target.find_first_of("?#")));
  if (head->path.empty()) head->path.push_back('/');
  return std::nullopt;
}

std::optional<HttpRefusal> ParseField(string_view line, RequestHead* head) {
  const size_t colon = line.find(':');
  if (colon == string_view::npos || !IsToken(line.substr(0, colon))) {
    return Malformed("A header line is not NAME: VALUE.");
  }
  const string_view value = Trimmed(line.substr(colon + 1));
  if (std::ranges::any_of(value, IsControl)) {
    return Malformed("A header value contains control characters.");
  }
  head->headers.emplace_back(LowerCase(line.substr(0, colon)), value);
  return std::nullopt;
}

std::optional<HttpRefusal> ParseLength(const std::string& text, RequestHead* head) {
  constexpr size_t kMostDigits = 18;  // fits into 64 bits
  if (text.empty() || text.size() > kMostDigits || !std::ranges::all_of(text, IsDigit)) {
    return Malformed("Content-Length is not a number.");
  }
  for (const char c : text) head->length = head->length * 10 + static_cast<uint64_t>(c - '0');
  return std::nullopt;
}

int Count(const RequestHead& head, string_view name) {
  return static_cast<int>(
      std::ranges::count(head.headers, name, [](const auto& h) -> string_view { return h.first; }));
}

// Determines how the body is delimited.
std::optional<HttpRefusal> ReadFraming(RequestHead* head) {
  const std::string* length = head->Find("content-length");
  const std::string* coding = head->Find("transfer-encoding");
  const bool is_ambiguous =
      Count(*head, "content-length") + Count(*head, "transfer-encoding") > 1 ||
      (coding != nullptr && head->is_http_1_0);
  if (is_ambiguous) return Malformed("The length of the body is ambiguous.");
  if (coding != nullptr && !EqualsIgnoringCase(*coding, "chunked")) {
    return Refuse(501, "unsupported_transfer_encoding",
                  "The only transfer encoding that this server supports is chunked.");
  }
  head->is_chunked = coding != nullptr;
  return length == nullptr ? std::nullopt : ParseLength(*length, head);
}

std::optional<HttpRefusal> ReadConnection(RequestHead* head) {
  head->keeps_alive = !head->is_http_1_0;
  for (const auto& [name, value] : head->headers) {
    if (name == "connection" && ListHas(value, "close")) head->keeps_alive = false;
  }
  const std::string* expected = head->Find("expect");
  if (expected == nullptr || head->is_http_1_0) return std::nullopt;
  if (!EqualsIgnoringCase(*expected, "100-continue")) {
    return Refuse(417, "unknown_expectation",
                  "The only expectation that this server supports is 100-continue.");
  }
  head->expects_continue = true;
  return std::nullopt;
}

std::optional<HttpRefusal> CheckHost(const RequestHead& head, bool has_authority) {
  const int hosts = Count(head, "host") - (has_authority ? 1 : 0);
  const bool is_missing = hosts == 0 && !head.is_http_1_0;
  if (hosts <= 1 && !is_missing) return std::nullopt;
  return Malformed("Expected exactly one Host header.");
}

// Removes the first line from `text` and returns it without its line end. REQUIRES: `text` holds a
// line feed.
string_view TakeLine(string_view* text) {
  const size_t end = text->find('\n');
  string_view line = text->substr(0, end);
  text->remove_prefix(end + 1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

}  // namespace

const std::string* RequestHead::Find(string_view name) const {
  for (const auto& header : headers) {
    if (header.first == name) return &header.second;
  }
  return nullptr;
}

bool IsTokenCharacter(char c) {
  const char lower = Lower(c);
  return IsDigit(c) || (lower >= 'a' && lower <= 'z') ||
         string_view("!#$%&'*+-.^_`|~").find(c) != string_view::npos;
}

bool EqualsIgnoringCase(string_view a, string_view b) {
  return std::ranges::equal(a, b, {}, Lower, Lower);
}

std::string LowerCase(string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), Lower);
  return lower;
}

std::optional<HttpRefusal> ParseHead(string_view text, RequestHead* head) {
  *head = {};
  if (auto refusal = ParseRequestLine(TakeLine(&text), head)) return refusal;
  const bool has_authority = !head->headers.empty();
  while (!text.empty()) {
    const string_view line = TakeLine(&text);
    if (line.empty()) break;
    if (auto refusal = ParseField(line, head)) return refusal;
  }
  if (auto refusal = CheckHost(*head, has_authority)) return refusal;
  if (auto refusal = ReadFraming(head)) return refusal;
  return ReadConnection(head);
}

}  // namespace foretoken
