#include "eval/report/write_json.h"

#include "base/json.h"

namespace foretoken {

Status WriteJson(OutputFile& output, const Json& json) {
  return output.active() ? output.Finish(JsonText(json, 2) + "\n") : Status();
}

}  // namespace foretoken
