#include "inspect_draft.h"

#include <cstdio>

#include "base/json.h"
#include "io/utf8.h"

namespace foretoken {

Json DraftJson(const DraftInfo& info) {
  const TargetFingerprint& t = info.target;
  return {{"method", info.method},
          {"name", info.name},
          {"target",
           {{"architecture", t.architecture},
            {"name", t.name},
            {"vocab", t.vocab},
            {"layers", t.layers},
            {"hidden", t.hidden},
            {"heads", t.heads},
            {"kv_heads", t.kv_heads},
            {"head_dim", t.head_dim}}},
          {"layers", info.blocks.layers},
          {"output_heads", info.output_heads},
          {"hidden_states_read", info.taps},
          {"kv_layers_read", info.kv_layers},
          {"shared", info.shared}};
}

void PrintDraft(const DraftFile& draft) {
  const DraftInfo& info = draft.info();
  const TargetFingerprint& t = info.target;
  std::printf("%s\n", draft.path().c_str());
  std::printf("  draft         %s, %s\n", Printable(info.method).c_str(),
              Printable(info.name).c_str());
  std::printf("  target        %s, %s, vocabulary %d, %d layers, hidden %d\n",
              Printable(t.name).c_str(), Printable(t.architecture).c_str(), t.vocab, t.layers,
              t.hidden);
  std::printf("  reads         hidden states %s, keys and values of layers %s\n",
              Json(info.taps).dump().c_str(), Json(info.kv_layers).dump().c_str());
  std::printf("  shares        %s\n", Json(info.shared).dump().c_str());
}

}  // namespace foretoken
