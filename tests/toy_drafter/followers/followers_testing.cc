#include "base/json.h"
#include "base/output_file.h"
#include "draft/weights_testing.h"

namespace foretoken {

Json FollowersTestOptions(const TestTarget& target) {
  std::string ids;
  for (const Token token : CommonFollowers(target.texts(), target.config.vocab)) {
    ids += std::to_string(token) + "\n";
  }
  const std::string path = target.stem + ".followers";
  FT_CHECK(WriteFileAtomically(path, ids).ok());
  return {{"table", path}};
}

}  // namespace foretoken
