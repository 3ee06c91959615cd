#include "grammar/json_exprs.h"

#include <algorithm>
#include <map>

#include "base/utf8.h"
#include "grammar/code_ranges.h"

namespace foretoken {
namespace {

Expr Byte(char c) { return Expr::Text(std::string(1, c)); }

// The characters that must be escaped in a string; all others may appear unescaped.
const std::vector<CodeRange>& EscapedChars() {
  static const std::vector<CodeRange> chars{{0, 0x1F}, {'"', '"'}, {'\\', '\\'}, {0x7F, 0x7F}};
  return chars;
}

// Characters with a short escape, and its letter.
constexpr std::pair<char, char> kShortEscapes[] = {
    {'"', '"'}, {'\\', '\\'}, {'\b', 'b'}, {'\f', 'f'}, {'\n', 'n'}, {'\r', 'r'}, {'\t', 't'}};

Expr HexDigits4(std::vector<CodeRange> first, std::vector<CodeRange> second) {
  const Expr any = Expr::Chars({{'0', '9'}, {'a', 'f'}, {'A', 'F'}});
  return Expr::Sequence({Expr::Chars(std::move(first)), Expr::Chars(std::move(second)), any, any});
}

// \uHHHH, or a surrogate pair of them.
Expr UnicodeEscape() {
  const std::vector<CodeRange> d{{'d', 'd'}, {'D', 'D'}}, any{{'0', '9'}, {'a', 'f'}, {'A', 'F'}};
  return Expr::Choice(
      {Expr::Sequence(
           {Expr::Text("\\u"),
            HexDigits4({{'0', '9'}, {'a', 'c'}, {'A', 'C'}, {'e', 'f'}, {'E', 'F'}}, any)}),
       Expr::Sequence({Expr::Text("\\u"), HexDigits4(d, {{'0', '7'}})}),
       Expr::Sequence({Expr::Text("\\u"), HexDigits4(d, {{'8', '9'}, {'a', 'b'}, {'A', 'B'}}),
                       Expr::Text("\\u"), HexDigits4(d, {{'c', 'f'}, {'C', 'F'}})})});
}

// Characters of the set, each in its usual encoding.
Expr EncodedChars(const std::vector<CodeRange>& chars) {
  std::vector<Expr> choices{Expr::Chars(Without(chars, EscapedChars()))};
  for (const auto& [c, letter] : kShortEscapes) {
    const auto code = static_cast<uint32_t>(c);
    const bool is_meant = std::ranges::any_of(
        chars, [code](const CodeRange& r) { return r.first <= code && code <= r.last; });
    if (is_meant) choices.push_back(Expr::Text({'\\', letter}));
  }
  return Expr::Choice(std::move(choices));
}

// A trie of keys by their characters.
struct KeyTrie {
  std::map<uint32_t, KeyTrie> next;
  bool is_key = false;
};

// Continuations of the prefix at `trie` that do not spell a key.
Expr NoKey(const KeyTrie& trie) {
  std::vector<CodeRange> known = EscapedChars();
  std::vector<Expr> choices;
  if (!trie.is_key) choices.push_back(Expr::Text(""));
  for (const auto& [code, child] : trie.next) {
    known.push_back({code, code});
    std::vector<Expr> parts;  // moved, because subtrees are large
    parts.push_back(EncodedChars({{code, code}}));
    parts.push_back(NoKey(child));
    choices.push_back(Expr::Sequence(std::move(parts)));
  }
  choices.push_back(Expr::Sequence(
      {Expr::Chars(Complement(known)), Expr::Repeat(JsonChar(), 0, Expr::kUnlimited)}));
  return Expr::Choice(std::move(choices));
}

}  // namespace

Expr JsonSpace() {
  constexpr int kSpaces = 32, kTabs = 16;
  const Expr line = Expr::Sequence(
      {Byte('\n'),
       Expr::Choice({Expr::Repeat(Byte(' '), 0, kSpaces), Expr::Repeat(Byte('\t'), 1, kTabs)})});
  return Expr::Choice({Expr::Text(""), Byte(' '), line});
}

Expr JsonChar() {
  std::vector<CodeRange> letters{{'/', '/'}};
  for (const auto& [c, letter] : kShortEscapes) {
    letters.push_back({static_cast<uint32_t>(letter), static_cast<uint32_t>(letter)});
  }
  return Expr::Choice({Expr::Chars(Complement(EscapedChars())),
                       Expr::Sequence({Byte('\\'), Expr::Chars(std::move(letters))}),
                       UnicodeEscape()});
}

Expr JsonString(int min, int max) {
  return Expr::Sequence({Byte('"'), Expr::Repeat(JsonChar(), min, max), Byte('"')});
}

Expr JsonStringOtherThan(const std::vector<std::string>& keys) {
  KeyTrie trie;
  for (std::string_view key : keys) {
    KeyTrie* at = &trie;
    while (!key.empty()) {
      const size_t length = std::max<size_t>(Utf8SequenceLength(key), 1);
      at = &at->next[DecodeUtf8(key.substr(0, length))];
      key.remove_prefix(length);
    }
    at->is_key = true;
  }
  return Expr::Sequence({Byte('"'), NoKey(trie), Byte('"')});
}

Expr JsonEncoded(const Expr& e) {
  if (e.kind == Expr::Kind::kChars) return EncodedChars(e.chars);
  Expr encoded{.kind = e.kind, .text = e.text, .rule = e.rule, .min = e.min, .max = e.max};
  for (const Expr& part : e.parts) encoded.parts.push_back(JsonEncoded(part));
  return encoded;
}

}  // namespace foretoken
