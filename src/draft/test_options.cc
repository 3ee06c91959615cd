#include "draft/test_options.h"

#include "base/json.h"
#include "text/byte_map.h"

namespace foretoken {

#define FT_TEST_OPTIONS(name, make) Json make(const TestTarget&);
#include "draft/test_options.def"
#undef FT_TEST_OPTIONS

Json TestOptions(std::string_view drafter, const TestTarget& target) {
#define FT_TEST_OPTIONS(name, make) \
  if (drafter == (name)) return make(target);
#include "draft/test_options.def"
#undef FT_TEST_OPTIONS
  return Json::object();
}

std::shared_ptr<const Tokenizer> ToyTokenizer(int size) {
  constexpr int kFirst = 0x1e;
  TokenizerData data;
  data.pre = "gpt-2";
  for (int i = 0; i < size; ++i) {
    data.tokens.emplace_back(MappedByte(kFirst + i));
    data.types.push_back(TokenType::kNormal);
  }
  return *Tokenizer::Create(std::move(data), "toy tokenizer");
}

}  // namespace foretoken
