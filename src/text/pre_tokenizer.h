// Cuts text into the stretches ("pre-tokens") that byte-level BPE merges within. Rules are regular
// expressions with Unicode classes, applied one after another, each inside the pieces of the one
// before; what a rule does not match is a piece too. Rules that follow kMappedRules see the text as
// Hugging Face's "ByteLevel" stage hands it on: each byte disguised as a character (byte_map.h).
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace foretoken {

// Stands between two rules; no regular expression.
inline constexpr std::string_view kMappedRules = "(*BYTES)";

// What the names of tokenizer.ggml.pre mean.
struct PreTokenizerRules {
  std::string_view name;
  std::vector<std::string_view> patterns;
  bool ignore_merges = false;  // llama.cpp's default for the name
  bool add_bos = false;        // likewise, where a file does not say
};

// The rules of `name`; "" means "default". Returns null for a name that is not known.
const PreTokenizerRules* FindPreTokenizerRules(std::string_view name);

// A name whose rules are exactly `patterns` and whose default does not contradict `ignore_merges`,
// or
// "" when there is none.
std::string_view FindPreTokenizerName(std::span<const std::string> patterns, bool ignore_merges);

// The pattern that a pre-tokenizer of Hugging Face's "ByteLevel", "Digits" or "Punctuation" kind
// has.
std::string_view ByteLevelPattern();
std::string_view DigitsPattern(bool individual);
std::string_view PunctuationPattern(bool contiguous);

// Thread-safety: const methods on any thread.
class PreTokenizer {
 public:
  // Errors: a name that is not known.
  static Result<PreTokenizer> ForName(std::string_view name);
  // One regular expression a line, or kMappedRules. Errors: one that does not compile.
  static Result<PreTokenizer> ForPatterns(std::string_view lines);

  PreTokenizer(PreTokenizer&&) noexcept;
  PreTokenizer& operator=(PreTokenizer&&) noexcept;
  ~PreTokenizer();

  using Emit = std::function<void(std::string_view)>;

  // What splitting needs besides the rules, to be kept where many texts are split in turn. The
  // PreTokenizer must outlive it. Thread-safety: one thread.
  class Splitter {
   public:
    explicit Splitter(const PreTokenizer& pre_tokenizer);
    ~Splitter();
    // Calls `emit` for each piece in order; the pieces are not empty and make up `text` exactly.
    // Bytes that are not UTF-8 form pieces of their own. Time is linear in the size of `text` for
    // the named rules.
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
