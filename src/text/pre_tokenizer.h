// Splitting of text into the pieces ("pre-tokens") within which byte-level BPE merges. Rules are
// regular expressions with Unicode classes, applied one after another to the pieces of the previous
// rule; text between matches forms pieces as well. Rules after kMappedRules see the text as Hugging
// Face's "ByteLevel" stage passes it on: each byte mapped to a character (byte_map.h).
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace foretoken {

// A separator between two rules, not a regular expression.
inline constexpr std::string_view kMappedRules = "(*BYTES)";

// The rules that a name in tokenizer.ggml.pre stands for.
struct PreTokenizerRules {
  std::string_view name;
  std::vector<std::string_view> patterns;
  bool ignore_merges = false;  // llama.cpp's default for the name
  bool add_bos = false;        // default for the name if a file does not say
};

// The rules of `name`; "" means "default". Null for an unknown name.
const PreTokenizerRules* FindPreTokenizerRules(std::string_view name);

// A name whose rules are exactly `patterns` and whose default does not contradict `ignore_merges`;
// "" if there is none.
std::string_view FindPreTokenizerName(std::span<const std::string> patterns, bool ignore_merges);

// The patterns of Hugging Face's pre-tokenizers "ByteLevel", "Digits" and "Punctuation".
std::string_view ByteLevelPattern();
std::string_view DigitsPattern(bool individual);
std::string_view PunctuationPattern(bool contiguous);

// Thread-safety: const methods on any thread.
class PreTokenizer {
 public:
  // Errors: an unknown name.
  static Result<PreTokenizer> ForName(std::string_view name);
  // One regular expression or kMappedRules per line. Errors: an expression that does not compile.
  static Result<PreTokenizer> ForPatterns(std::string_view lines);

  PreTokenizer(PreTokenizer&&) noexcept;
  PreTokenizer& operator=(PreTokenizer&&) noexcept;
  ~PreTokenizer();

  using Emit = std::function<void(std::string_view)>;

  // The mutable state of splitting, reusable for any number of texts. The PreTokenizer must outlive
  // it. Thread-safety: one thread.
  class Splitter {
   public:
    explicit Splitter(const PreTokenizer& pre_tokenizer);
    ~Splitter();
    // Calls `emit` for each piece in order. Pieces are not empty and concatenate to `text`. Bytes
    // that are not UTF-8 form separate pieces. With the named rules, time is linear in the size of
    // `text`.
    void Split(std::string_view text, const Emit& emit);

   private:
    class Matcher;
    static void SplitBy(std::span<Matcher> matchers, std::string_view text, const Emit& emit);
    void SplitMapped(std::string_view piece, const Emit& emit);
    std::vector<Matcher> matchers_, mapped_;
  };

 private:
  class Rule;
  PreTokenizer();
  static Result<PreTokenizer> Compile(std::span<const std::string_view> patterns);

  std::vector<std::unique_ptr<Rule>> rules_, mapped_rules_;
};

}  // namespace foretoken
