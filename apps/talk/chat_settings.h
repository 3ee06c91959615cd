// The settings that /set changes in a running chat.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/sampling_args.h"

namespace foretoken {

struct ChatSettings {
  SamplingParams sampling;
  int new_tokens = -1;  // maximum tokens of an answer; -1: until the context is full
};

// Names as typed after /set, equal to those of the command line's options.
std::vector<std::string> SettingNames();

// One line per setting: name, value, meaning.
std::string SettingsTable(const ChatSettings& settings);
// "name value". Errors: no such setting (names the nearest).
Result<std::string> ShowSetting(const ChatSettings& settings, std::string_view name);
// Errors: an unknown setting, a value that is not a number or outside its range (which is named).
// `settings` is then unchanged. A seed of -1 becomes a random one.
Status ChangeSetting(ChatSettings* settings, std::string_view name, const std::string& value);

}  // namespace foretoken
