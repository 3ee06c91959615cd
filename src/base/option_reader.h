// Reads options from JSON and reports unknown ones, so that a typo is an error that names it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json_fwd.h"
#include "base/result.h"

namespace foretoken {

// Read every option, then call Finish. A value may also be text that parses as the requested type,
// because options from a command line are text. Thread-safety: one thread.
class OptionReader {
 public:
  // `owner` begins every error message ("drafter pld"). `options` must outlive this.
  OptionReader(std::string owner, const Json& options);

  int Int(std::string_view name, int fallback, int low, int high);
  float Number(std::string_view name, float fallback, float low, float high);
  // The index in `choices` of the option's value; 0 if the option is absent.
  int Choice(std::string_view name, const std::vector<std::string_view>& choices);
  // Text as it is; numbers as they would be typed.
  std::string Text(std::string_view name, std::string_view fallback);
  bool Has(std::string_view name) const;
  // The raw value, or null if absent.
  const Json* Raw(std::string_view name);

  // Records a mistake that only the caller can detect: `name` holds `found`.
  void Complain(std::string_view name, const Json& found, const std::string& expected);

  // Returns the first mistake: an ill-typed or out-of-range value, or an option that was never
  // read, with a list of the known ones.
  Status Finish() const;

 private:
  std::string owner_;
  const Json& options_;
  std::vector<std::string> known_;
  Status first_;
};

}  // namespace foretoken
