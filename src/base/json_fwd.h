// Forward declaration of Json, for headers.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace foretoken {

using Json = nlohmann::ordered_json;

}  // namespace foretoken
