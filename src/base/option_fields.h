// Self-describing options. A struct of options lists its fields once, in
//
//   void Visit(OptionFields& fields) { fields.Int("k", k, 1, 1024, "tokens copied at most"); }
//
// from which options are read and help texts and documents are generated.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/option_reader.h"

namespace foretoken {

struct OptionDescription {
  std::string name;      // "" for a note on all options, whose text is `meaning`
  std::string values;    // "1 to 1024", "max or sum", "a file"
  std::string fallback;  // the default, as typed or in words; "" if there is none
  std::string meaning;   // one line
  std::string authors;   // the paper's default if it differs, else ""
  bool operator==(const OptionDescription&) const = default;
};
using OptionTable = std::vector<OptionDescription>;

// Parts of a description that replace what is derived from the field.
struct OptionNotes {
  std::string_view fallback = "";  // replaces the field's value
  std::string_view values = "";    // replaces its range
  std::string_view authors = "";   // OptionDescription::authors
};

// Reads or describes options. Before a call, a field holds its default. Arguments come in this
// order: name, field, permitted values, meaning.
class OptionFields {
 public:
  // Reads options. Mistakes are recorded in `reader`, which must outlive this.
  explicit OptionFields(OptionReader& reader) : reader_(&reader) {}
  // Appends descriptions to `table`, which must outlive this.
  explicit OptionFields(OptionTable& table) : table_(&table) {}

  // `is_given` is set if the option is present; may be null.
  void Int(std::string_view name, int& field, int low, int high, std::string_view meaning,
           const OptionNotes& notes = {}, bool* is_given = nullptr);
  void Number(std::string_view name, float& field, float low, float high, std::string_view meaning,
              const OptionNotes& notes = {});
  void Text(std::string_view name, std::string& field, std::string_view values,
            std::string_view meaning, const OptionNotes& notes = {});
  // One of several words, each with the value it stands for; the first is the default.
  template <typename T>
  void Choice(std::string_view name, T& field,
              std::initializer_list<std::pair<std::string_view, T>> choices,
              std::string_view meaning, const OptionNotes& notes = {});
  // A word or a whole number. One of `words`, by default the first, is stored in `word`; a number
  // is stored in `number`, and `word` becomes empty.
  void WordOrInt(std::string_view name, std::string& word, int& number,
                 const std::vector<std::string_view>& words, int low, int high,
                 std::string_view meaning, const OptionNotes& notes = {});
  // The JSON value as given, or null if there is none.
  void Raw(std::string_view name, const Json*& field, std::string_view values,
           std::string_view meaning, const OptionNotes& notes = {});
  // A sentence about the options as a whole.
  void Note(std::string_view text);
  // OptionReader::Complain when reading; nothing when describing.
  void Complain(std::string_view name, const Json& found, const std::string& expected) {
    if (reader_ != nullptr) reader_->Complain(name, found, expected);
  }

 private:
  void Describe(std::string_view name, std::string values, std::string fallback,
                std::string_view meaning, const OptionNotes& notes);
  size_t ReadChoice(std::string_view name, const std::vector<std::string_view>& words,
                    std::string_view meaning, const OptionNotes& notes);

  OptionReader* reader_ = nullptr;  // null when describing
  OptionTable* table_ = nullptr;
};

template <typename T>
void OptionFields::Choice(std::string_view name, T& field,
                          std::initializer_list<std::pair<std::string_view, T>> choices,
                          std::string_view meaning, const OptionNotes& notes) {
  std::vector<std::string_view> words;
  for (const auto& [word, value] : choices) words.push_back(word);
  field = choices.begin()[ReadChoice(name, words, meaning, notes)].second;
}

// Describes the options of a struct.
template <typename Options>
OptionTable DescribeOptions() {
  OptionTable table;
  OptionFields fields(table);
  Options options{};
  options.Visit(fields);
  return table;
}

}  // namespace foretoken
