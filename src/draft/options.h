// A drafter's options: a struct that describes its own fields (base/option_fields.h). Error
// messages begin with the drafter's name.
#pragma once

#include <string>
#include <string_view>

#include "base/option_fields.h"
#include "base/option_reader.h"

namespace foretoken {

class DraftOptions : public OptionReader {
 public:
  // `options` must outlive this.
  DraftOptions(std::string_view drafter, const Json& options)
      : OptionReader("drafter " + std::string(drafter), options) {}
};

// Reads the options of `drafter` into a struct that holds their defaults. Errors: the first invalid
// option.
template <typename Options>
Status ReadOptions(std::string_view drafter, const Json& json, Options& options) {
  DraftOptions reader(drafter, json);
  OptionFields fields(reader);
  options.Visit(fields);
  return reader.Finish();
}

}  // namespace foretoken
