// REST's options for tests: writes a datastore of the target's texts.
#include "base/json.h"
#include "base/output_file.h"
#include "draft/rest/datastore.h"
#include "draft/test_options.h"

namespace foretoken {

Json RestTestOptions(const TestTarget& target) {
  const std::string path = target.stem + ".datastore";
  const auto file = EncodeDatastore(target.texts(), target.config.vocab,
                                    VocabularyFingerprint(target.tokenizer.data()));
  FT_CHECK(file.ok() && WriteFileAtomically(path, *file).ok());
  return {{"datastore", path}};
}

}  // namespace foretoken
