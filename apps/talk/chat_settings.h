// What /set changes in a running chat.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/sampling_args.h"

namespace foretoken {

struct ChatSettings {
  SamplingParams sampling;
  int new_tokens = -1;  // of an answer at most; -1: until the context is full
};

// Names as typed after /set: those of the command line's options.
std::vector<std::string> SettingNames();

// A line for each setting: name, value, meaning.
std::string SettingsTable(const ChatSettings& settings);
// "name value". Errors: no such setting (names the nearest).
Result<std::string> ShowSetting(const ChatSettings& settings, std::string_view name);
// Errors: no such setting, a value that is no number or outside its range, which is named;
// `settings` is unchanged then. A seed of -1 becomes a random one.
Status ChangeSetting(ChatSettings* settings, std::string_view name, const std::string& value);

}  // namespace foretoken
