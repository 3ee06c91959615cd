// Options that describe themselves. A struct of options lists its fields once, in
//
//   void Visit(OptionFields& fields) { fields.Int("k", k, 1, 1024, "tokens copied at most"); }
//
// from which its values are read, and what help texts and documents say of them is made.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/option_reader.h"

namespace foretoken {

struct OptionDescription {
  std::string name;      // "" for a note on all of them, which is its meaning
  std::string values;    // "1 to 1024", "max or sum", "a file"
  std::string fallback;  // the default, as typed or in words; "" for none
  std::string meaning;   // one line
  std::string authors;   // the default of the paper or its code, where it differs; or ""
  bool operator==(const OptionDescription&) const = default;
};
using OptionTable = std::vector<OptionDescription>;

// What a description says that the field itself does not.
struct OptionNotes {
  std::string_view fallback = "";  // in place of the field's value
  std::string_view values = "";    // in place of its range
  std::string_view authors = "";   // OptionDescription::authors
};

// Reads options, or describes them. Fields hold their defaults beforehand. Arguments in this order:
// name, field, what it may be, what it means.
class OptionFields {
 public:
  // Reads; mistakes are noted in `reader`, which must outlive this.
  explicit OptionFields(OptionReader& reader) : reader_(&reader) {}
  // Appends descriptions to `table`, which must outlive this.
  explicit OptionFields(OptionTable& table) : table_(&table) {}

  // `is_given`: set where the option is there; may be null.
  void Int(std::string_view name, int& field, int low, int high, std::string_view meaning,
           const OptionNotes& notes = {}, bool* is_given = nullptr);
  void Number(std::string_view name, float& field, float low, float high, std::string_view meaning,
              const OptionNotes& notes = {});
  void Text(std::string_view name, std::string& field, std::string_view values,
            std::string_view meaning, const OptionNotes& notes = {});
  // One of the words, each with the value that it stands for; the first one is the default.
  template <typename T>
  void Choice(std::string_view name, T& field,
              std::initializer_list<std::pair<std::string_view, T>> choices,
              std::string_view meaning, const OptionNotes& notes = {});
  // A word or a whole number: one of `words`, the first one by default, goes to `word`; a number to
  // `number`, and `word` becomes empty.
  void WordOrInt(std::string_view name, std::string& word, int& number,
                 const std::vector<std::string_view>& words, int low, int high,
                 std::string_view meaning, const OptionNotes& notes = {});
  // The value as it came, or null where there is none.
  void Raw(std::string_view name, const Json*& field, std::string_view values,
           std::string_view meaning, const OptionNotes& notes = {});
  // A sentence on the options together.
  void Note(std::string_view text);
  // OptionReader::Complain; nothing where it describes.
  void Complain(std::string_view name, const Json& found, const std::string& expected) {
    if (reader_ != nullptr) reader_->Complain(name, found, expected);
  }

 private:
  void Describe(std::string_view name, std::string values, std::string fallback,
                std::string_view meaning, const OptionNotes& notes);
  size_t ReadChoice(std::string_view name, const std::vector<std::string_view>& words,
                    std::string_view meaning, const OptionNotes& notes);

  OptionReader* reader_ = nullptr;  // null: describes
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

// The options of a struct.
template <typename Options>
OptionTable DescribeOptions() {
  OptionTable table;
  OptionFields fields(table);
  Options options{};
  options.Visit(fields);
  return table;
}

}  // namespace foretoken
