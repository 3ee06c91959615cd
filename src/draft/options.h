// A drafter's options: every mistake opens with the drafter's name.
#pragma once

#include <string>
#include <string_view>

#include "base/option_reader.h"

namespace foretoken {

class DraftOptions : public OptionReader {
 public:
  // `options` must outlive this.
  DraftOptions(std::string_view drafter, const Json& options)
      : OptionReader("drafter " + std::string(drafter), options) {}
};

}  // namespace foretoken
