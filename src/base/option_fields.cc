#include "base/option_fields.h"

#include <algorithm>
#include <charconv>

namespace foretoken {
namespace {

std::string NumberText(float value) {
  char text[32];
  const auto [end, error] = std::to_chars(text, text + sizeof(text), value);
  return {text, end};
}

std::string RangeText(const std::string& low, const std::string& high) {
  return low + " to " + high;
}

std::string WordsText(const std::vector<std::string_view>& words) {
  std::string text;
  for (size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 < words.size() ? ", " : " or ";
    text += words[i];
  }
  return text;
}

}  // namespace

void OptionFields::Describe(std::string_view name, std::string values, std::string fallback,
                            std::string_view meaning, const OptionNotes& notes) {
  if (!notes.values.empty()) values = notes.values;
  if (!notes.fallback.empty()) fallback = notes.fallback;
  table_->push_back({std::string(name), std::move(values), std::move(fallback),
                     std::string(meaning), std::string(notes.authors)});
}

void OptionFields::Int(std::string_view name, int& field, int low, int high,
                       std::string_view meaning, const OptionNotes& notes, bool* is_given) {
  if (reader_ == nullptr) {
    return Describe(name, RangeText(std::to_string(low), std::to_string(high)),
                    std::to_string(field), meaning, notes);
  }
  if (is_given != nullptr) *is_given = reader_->Has(name);
  field = reader_->Int(name, field, low, high);
}

void OptionFields::Number(std::string_view name, float& field, float low, float high,
                          std::string_view meaning, const OptionNotes& notes) {
  if (reader_ == nullptr) {
    return Describe(name, RangeText(NumberText(low), NumberText(high)), NumberText(field), meaning,
                    notes);
  }
  field = reader_->Number(name, field, low, high);
}

void OptionFields::Text(std::string_view name, std::string& field, std::string_view values,
                        std::string_view meaning, const OptionNotes& notes) {
  if (reader_ == nullptr) return Describe(name, std::string(values), field, meaning, notes);
  field = reader_->Text(name, field);
}

size_t OptionFields::ReadChoice(std::string_view name, const std::vector<std::string_view>& words,
                                std::string_view meaning, const OptionNotes& notes) {
  if (reader_ != nullptr) return static_cast<size_t>(reader_->Choice(name, words));
  Describe(name, WordsText(words), std::string(words.front()), meaning, notes);
  return 0;
}

void OptionFields::WordOrInt(std::string_view name, std::string& word, int& number,
                             const std::vector<std::string_view>& words, int low, int high,
                             std::string_view meaning, const OptionNotes& notes) {
  if (reader_ == nullptr) {
    std::vector<std::string_view> all = words;
    const std::string range = RangeText(std::to_string(low), std::to_string(high));
    all.push_back(range);
    return Describe(name, WordsText(all), std::string(words.front()), meaning, notes);
  }
  word = reader_->Text(name, words.front());
  if (std::ranges::find(words, word) != words.end()) return;
  word.clear();
  number = reader_->Int(name, number, low, high);
}

void OptionFields::Raw(std::string_view name, const Json*& field, std::string_view values,
                       std::string_view meaning, const OptionNotes& notes) {
  if (reader_ == nullptr) return Describe(name, std::string(values), "", meaning, notes);
  field = reader_->Raw(name);
}

void OptionFields::Note(std::string_view text) {
  if (reader_ == nullptr) table_->push_back({"", "", "", std::string(text), ""});
}

}  // namespace foretoken
