#include "text/tokenizer_stages.h"

#include <algorithm>

#include "text/pre_tokenizer.h"
#include "text/space_mark.h"

namespace foretoken {
namespace {

// A position in the file, for messages.
struct Place {
  std::string_view origin;
  std::string path;  // "pre_tokenizer.pretokenizers[1]"

  Place Field(const std::string& key) const { return {origin, path + "." + key}; }
  Place Item(const std::string& key, size_t i) const {
    return {origin, path + "." + key + "[" + std::to_string(i) + "]"};
  }
  Error Wrong(const char* key, const JsonTree& stage, const std::string& expected) const {
    return WrongField(origin, path + "." + key, FindField(stage, key), expected);
  }
};

Result<std::string> TypeOf(const JsonTree& stage, const Place& place) {
  const JsonTree* type = FindField(stage, "type");
  if (type == nullptr || !type->is_string()) return place.Wrong("type", stage, "a string");
  return type->get<std::string>();
}

// Calls `read(item, place of item)` for each stage of a "Sequence".
template <typename Read>
Status ForEachStage(const JsonTree& stage, const Place& place, const char* key, Read&& read) {
  const JsonTree* list = FindField(stage, key);
  if (list == nullptr || !list->is_array()) return place.Wrong(key, stage, "a list");
  for (size_t i = 0; i < list->size(); ++i) {
    FT_RETURN_IF_ERROR(read((*list)[i], place.Item(key, i)));
  }
  return {};
}

// Reads a pattern object: {"String": s} is literal, {"Regex": r} is an expression. Line breaks are
// written as escapes, since patterns are stored one per line.
Result<std::string> PatternOf(const JsonTree& stage, const Place& place) {
  const JsonTree* pattern = FindField(stage, "pattern");
  const JsonTree* regex = pattern == nullptr ? nullptr : FindField(*pattern, "Regex");
  const JsonTree* literal = pattern == nullptr ? nullptr : FindField(*pattern, "String");
  const JsonTree* given = regex != nullptr ? regex : literal;
  if (given == nullptr || !given->is_string()) {
    return place.Wrong("pattern", stage, "{\"Regex\": ...} or {\"String\": ...}");
  }
  std::string out;
  for (const char c : given->get<std::string>()) {
    if (c == '\n') {
      out += "\\n";
    } else if (c == '\r') {
      out += "\\r";
    } else {
      if (regex == nullptr && std::string_view("\\^$.|?*+()[]{}#").find(c) != std::string::npos) {
        out += '\\';
      }
      out += c;
    }
  }
  return out;
}

class StageReader {
 public:
  StageReader(TokenizerStages& stages, TokenizerData& data) : stages_(stages), data_(data) {}

  Status Normalizer(const JsonTree& stage, const Place& place) {
    FT_ASSIGN_OR_RETURN(const std::string type, TypeOf(stage, place));
    if (type == "Sequence") {
      return ForEachStage(stage, place, "normalizers", [&](const JsonTree& item, const Place& at) {
        return Normalizer(item, at);
      });
    }
    if (type == "NFC") return {};
    if (type == "Prepend") return Prepend(stage, place);
    if (type == "Replace") return Replace(stage, place);
    return place.Wrong("type", stage, "Sequence, NFC, Prepend or Replace");
  }

  Status PreTokenizerStage(const JsonTree& stage, const Place& place) {
    FT_ASSIGN_OR_RETURN(const std::string type, TypeOf(stage, place));
    if (type == "Sequence") {
      return ForEachStage(
          stage, place, "pretokenizers",
          [&](const JsonTree& item, const Place& at) { return PreTokenizerStage(item, at); });
    }
    if (type == "ByteLevel") return ByteLevel(stage, place);
    if (type == "Split") return Split(stage, place);
    if (type == "Digits") return Digits(stage, place);
    if (type == "Punctuation") return Punctuation(stage, place);
    if (type == "Metaspace") return Metaspace(stage, place);
    return place.Wrong("type", stage,
                       "Sequence, ByteLevel, Split, Digits, Punctuation or Metaspace");
  }

 private:
  Status Prepend(const JsonTree& stage, const Place& place) {
    const JsonTree* text = FindField(stage, "prepend");
    if (text == nullptr || *text != kSpaceMark) return place.Wrong("prepend", stage, "U+2581");
    data_.add_space_prefix = true;
    return {};
  }

  Status Replace(const JsonTree& stage, const Place& place) {
    FT_ASSIGN_OR_RETURN(const std::string pattern, PatternOf(stage, place));
    const JsonTree* content = FindField(stage, "content");
    if (pattern != " ") return place.Wrong("pattern", stage, "a space");
    if (content == nullptr || *content != kSpaceMark) {
      return place.Wrong("content", stage, "U+2581");
    }
    stages_.marks_spaces = true;
    return {};
  }

  Status ByteLevel(const JsonTree& stage, const Place& place) {
    FT_ASSIGN_OR_RETURN(const bool prefix, BoolField(stage, place.origin, place.path + ".",
                                                     "add_prefix_space", false));
    if (prefix) return place.Wrong("add_prefix_space", stage, "false");
    FT_ASSIGN_OR_RETURN(const bool use_regex,
                        BoolField(stage, place.origin, place.path + ".", "use_regex", true));
    if (use_regex) AddPattern(ByteLevelPattern());
    stages_.byte_level = true;
    return {};
  }

  Status Split(const JsonTree& stage, const Place& place) {
    FT_ASSIGN_OR_RETURN(std::string pattern, PatternOf(stage, place));
    const JsonTree behavior = stage.value("behavior", JsonTree("Isolated"));
    FT_ASSIGN_OR_RETURN(const bool invert,
                        BoolField(stage, place.origin, place.path + ".", "invert", false));
    // The normalizer has already replaced all spaces, so this would split nothing (gemma).
    if (pattern == " " && stages_.marks_spaces) return {};
    // Inverted "Removed" keeps the matches and drops the rest; patterns in use match everything.
    if (behavior != "Isolated" && !(behavior == "Removed" && invert)) {
      return place.Wrong("behavior", stage, "Isolated");
    }
    // Replaced by an equivalent pattern that does not scan to the end from each space. Lines are
    // already separate pieces, so $ is the end of the piece.
    const bool lines_apart = !stages_.patterns.empty() && stages_.patterns[0] == "[\\r\\n]";
    if (pattern == "\\s+$" && lines_apart) pattern = "(?<!\\s)\\s++$";
    AddPattern(pattern);
    return {};
  }

  // Stages after "ByteLevel" see mapped text.
  void AddPattern(std::string_view pattern) {
    std::vector<std::string>& patterns = stages_.patterns;
    if (stages_.byte_level && std::ranges::find(patterns, kMappedRules) == patterns.end()) {
      patterns.emplace_back(kMappedRules);
    }
    patterns.emplace_back(pattern);
  }

  Status Digits(const JsonTree& stage, const Place& place) {
    FT_ASSIGN_OR_RETURN(const bool individual, BoolField(stage, place.origin, place.path + ".",
                                                         "individual_digits", false));
    AddPattern(DigitsPattern(individual));
    return {};
  }

  Status Punctuation(const JsonTree& stage, const Place& place) {
    const JsonTree behavior = stage.value("behavior", JsonTree("Isolated"));
    if (behavior != "Isolated" && behavior != "Contiguous") {
      return place.Wrong("behavior", stage, "Isolated or Contiguous");
    }
    AddPattern(PunctuationPattern(behavior == "Contiguous"));
    return {};
  }

  Status Metaspace(const JsonTree& stage, const Place& place) {
    const JsonTree* mark = FindField(stage, "replacement");
    if (mark == nullptr || *mark != kSpaceMark) return place.Wrong("replacement", stage, "U+2581");
    FT_ASSIGN_OR_RETURN(const bool prefix,
                        BoolField(stage, place.origin, place.path + ".", "add_prefix_space", true));
    FT_ASSIGN_OR_RETURN(const std::string scheme,
                        TextField(stage, place.origin, place.path + ".", "prepend_scheme",
                                  prefix ? "always" : "never"));
    if (scheme != "always" && scheme != "first" && scheme != "never") {
      return place.Wrong("prepend_scheme", stage, "always, first or never");
    }
    stages_.marks_spaces = true;
    data_.add_space_prefix = scheme != "never";
    data_.prefix_after_special = scheme == "always";
    data_.prefix_doubles_space = false;
    return {};
  }

  TokenizerStages& stages_;
  TokenizerData& data_;
};

// The id of a special token in a template.
Result<Token> TemplateToken(const JsonTree& item, const Place& place, const TokenizerData& data) {
  const JsonTree* name = FindField(item, "id");
  if (name == nullptr || !name->is_string()) return place.Wrong("id", item, "a token");
  const auto found = std::ranges::find(data.tokens, name->get<std::string>());
  if (found == data.tokens.end()) return place.Wrong("id", item, "a token of the vocabulary");
  return static_cast<Token>(found - data.tokens.begin());
}

// Reads "single": at most one special token before the text and at most one after it.
Status ReadTemplate(const JsonTree& stage, const Place& place, TokenizerData& data) {
  const JsonTree* single = FindField(stage, "single");
  if (single == nullptr || !single->is_array()) return place.Wrong("single", stage, "a list");
  bool text_seen = false;
  for (size_t i = 0; i < single->size(); ++i) {
    const Place at = place.Item("single", i);
    const JsonTree* special = FindField((*single)[i], "SpecialToken");
    if (special == nullptr) {
      text_seen = true;
      continue;
    }
    FT_ASSIGN_OR_RETURN(const Token token, TemplateToken(*special, at.Field("SpecialToken"), data));
    bool& add = text_seen ? data.add_eos : data.add_bos;
    if (add) return place.Wrong("single", stage, "one token before the text and one after it");
    add = true;
    (text_seen ? data.eos : data.bos) = token;
  }
  return {};
}

Status ReadProcessor(const JsonTree& stage, const Place& place, TokenizerData& data) {
  FT_ASSIGN_OR_RETURN(const std::string type, TypeOf(stage, place));
  if (type == "Sequence") {
    return ForEachStage(stage, place, "processors", [&](const JsonTree& item, const Place& at) {
      return ReadProcessor(item, at, data);
    });
  }
  if (type == "ByteLevel") return {};  // affects only offsets
  if (type == "TemplateProcessing") return ReadTemplate(stage, place, data);
  return place.Wrong("type", stage, "Sequence, ByteLevel or TemplateProcessing");
}

}  // namespace

Result<TokenizerStages> ReadStages(const JsonTree& root, std::string_view origin,
                                   TokenizerData& data) {
  TokenizerStages stages;
  StageReader reader(stages, data);
  data.add_space_prefix = false;
  if (const JsonTree* stage = FindField(root, "normalizer")) {
    FT_RETURN_IF_ERROR(reader.Normalizer(*stage, {origin, "normalizer"}));
  }
  if (const JsonTree* stage = FindField(root, "pre_tokenizer")) {
    FT_RETURN_IF_ERROR(reader.PreTokenizerStage(*stage, {origin, "pre_tokenizer"}));
  }
  return stages;
}

Status ReadPostProcessor(const JsonTree& root, std::string_view origin, TokenizerData& data) {
  const JsonTree* stage = FindField(root, "post_processor");
  return stage == nullptr ? Status() : ReadProcessor(*stage, {origin, "post_processor"}, data);
}

}  // namespace foretoken
