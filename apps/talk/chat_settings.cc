#include "apps/talk/chat_settings.h"

#include <algorithm>
#include <charconv>
#include <variant>

#include "apps/runtime_args.h"
#include "base/comma_list.h"
#include "base/nearest_name.h"
#include "base/number_text.h"

namespace foretoken {
namespace {

using SettingField = std::variant<float SamplingParams::*, int SamplingParams::*,
                                  uint64_t SamplingParams::*, int ChatSettings::*>;

struct Setting {
  std::string_view name;
  SettingField field;
  std::string_view meaning;
  std::string_view alias = {};  // llama.cpp's and Ollama's name, if different
};

constexpr Setting kSettings[] = {
    {"temp", &SamplingParams::temperature, "temperature; 0 = greedy", "temperature"},
    {"top-k", &SamplingParams::top_k, "keep the K likeliest tokens; 0 = off"},
    {"top-p", &SamplingParams::top_p, "keep the likeliest tokens with a total probability of P"},
    {"min-p", &SamplingParams::min_p, "keep tokens at least P times as likely as the likeliest"},
    {"typical-p", &SamplingParams::typical_p,
     "keep the most typical tokens with a total probability of P", "typical"},
    {"repeat-penalty", &SamplingParams::repetition_penalty,
     "divide the logits of recent tokens; 1 = off"},
    {"frequency-penalty", &SamplingParams::frequency_penalty,
     "subtract F for each recent occurrence"},
    {"presence-penalty", &SamplingParams::presence_penalty, "subtract F from every recent token"},
    {"penalty-last-n", &SamplingParams::penalty_last_n,
     "recent tokens that the penalties count; -1 = all", "repeat-last-n"},
    {"seed", &SamplingParams::seed,
     "random seed: a seed gives the same text; -1 picks a random one"},
    {"new-tokens", &ChatSettings::new_tokens,
     "maximum tokens per answer; -1 = until the context is full", "num-predict"},
};

std::string WithDashes(std::string_view typed) {
  std::string name(typed);
  std::ranges::replace(name, '_', '-');
  return name;
}

Result<const Setting*> FindSetting(std::string_view typed) {
  const std::string name = WithDashes(typed);
  for (const Setting& s : kSettings) {
    if (s.name == name || s.alias == name) return &s;
  }
  const std::string nearest = DidYouMean(name, SettingNames());
  return Error{"no setting '" + std::string(typed) + "'" +
               (nearest.empty() ? "; there are " + CommaList(SettingNames()) : nearest)};
}

template <typename Settings, typename Field>
auto& FieldOf(Settings& settings, Field field) {
  if constexpr (std::is_same_v<Field, int ChatSettings::*>) {
    return settings.*field;
  } else {
    return settings.sampling.*field;
  }
}

std::string ValueText(const ChatSettings& settings, const Setting& setting) {
  return std::visit(
      [&](auto field) {
        const auto value = FieldOf(settings, field);
        if constexpr (std::is_same_v<decltype(value), const float>) {
          return NumberText("%g", static_cast<double>(value));
        } else {
          return std::to_string(value);
        }
      },
      setting.field);
}

template <typename Number>
bool ParseWhole(const std::string& text, Number* number) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, *number);
  return error == std::errc() && stop == end;
}

}  // namespace

std::vector<std::string> SettingNames() {
  std::vector<std::string> names;
  for (const Setting& s : kSettings) names.emplace_back(s.name);
  return names;
}

std::string SettingsTable(const ChatSettings& settings) {
  std::string table;
  for (const Setting& s : kSettings) {
    std::string line(s.name);
    line.resize(19, ' ');
    line += ValueText(settings, s);
    line.resize(std::max<size_t>(line.size() + 1, 28), ' ');
    table.append(line).append(s.meaning).append("\n");
  }
  return table;
}

Result<std::string> ShowSetting(const ChatSettings& settings, std::string_view name) {
  FT_ASSIGN_OR_RETURN(const Setting* setting, FindSetting(name));
  return std::string(setting->name) + " " + ValueText(settings, *setting);
}

Status ChangeSetting(ChatSettings* settings, std::string_view name, const std::string& value) {
  FT_ASSIGN_OR_RETURN(const Setting* setting, FindSetting(name));
  ChatSettings changed = *settings;
  const bool is_number = std::visit(
      [&](auto field) { return ParseWhole(value, &FieldOf(changed, field)); }, setting->field);
  if (setting->name == "seed" && value == "-1") {
    changed.sampling.seed = RandomSeed();
  } else if (!is_number) {
    const bool is_float = std::holds_alternative<float SamplingParams::*>(setting->field);
    return Error{std::string(setting->name) + ": found '" + value + "', expected a " +
                 (is_float ? "number" : "whole number") +
                 (setting->name == "seed" ? " from -1 to 18446744073709551615" : "")};
  }
  FT_RETURN_IF_ERROR(Validate(changed.sampling));
  FT_RETURN_IF_ERROR(CheckNewTokens("new-tokens", changed.new_tokens));
  *settings = std::move(changed);
  return {};
}

}  // namespace foretoken
