// Reads options out of JSON, so that a typo is an error that names itself.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json_fwd.h"
#include "base/result.h"

namespace foretoken {

// Ask for every option there is, then Finish. A value may also be text that reads as the type asked
// for, as it comes from a command line. Thread-safety: one thread.
class OptionReader {
 public:
  // `owner` opens every error message ("drafter pld"). `options` must outlive this.
  OptionReader(std::string owner, const Json& options);

  int Int(std::string_view name, int fallback, int low, int high);
  float Number(std::string_view name, float fallback, float low, float high);
  // One of `choices`; the first when absent. Returns its index.
  int Choice(std::string_view name, const std::vector<std::string_view>& choices);
  // Text as it is; numbers as they would be typed.
  std::string Text(std::string_view name, std::string_view fallback);
  bool Has(std::string_view name) const;
  // The raw value, or null when absent.
  const Json* Raw(std::string_view name);

  // Notes a mistake that only the caller could see: `name` holds `found`.
  void Complain(std::string_view name, const Json& found, const std::string& expected);

  // The first mistake: an ill-typed or out-of-range value, or an option nobody asked for (lists the
  // known ones).
  Status Finish() const;

 private:
  std::string owner_;
  const Json& options_;
  std::vector<std::string> known_;
  Status first_;
};

}  // namespace foretoken
