// Writes a small GGUF with random weights and a byte-level vocabulary: the model of the tests of
// commands. usage: make_tiny_model FILE
#include <cmath>
#include <cstdio>
#include <cstring>

#include "base/rng.h"
#include "io/gguf.h"
#include "io/model_config_testing.h"
#include "text/byte_map.h"

namespace foretoken {
namespace {

TokenizerData ByteVocabulary() {
  TokenizerData data;
  data.pre = "gpt-2";
  for (int byte = 0; byte < 256; ++byte) {
    data.tokens.emplace_back(MappedByte(static_cast<uint8_t>(byte)));
    data.types.push_back(TokenType::kNormal);
  }
  for (const char* control : {"<|endoftext|>", "<|im_start|>", "<|im_end|>"}) {
    data.tokens.emplace_back(control);
    data.types.push_back(TokenType::kControl);
  }
  data.eos = 256;
  data.eot = 258;
  data.eog = {256, 258};
  data.chat_template =
      "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\\n' + m['content'] + "
      "'<|im_end|>\\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' "
      "}}{% endif %}";
  return data;
}

ModelConfig Shape() {
  ModelConfig config = TestConfig({.vocab = 259,
                                   .layers = 3,
                                   .hidden = 64,
                                   .ffn = 128,
                                   .context = 2048,
                                   .rope_interleaved = true});
  config.name = "tiny random model";
  return config;
}

// A small `spread` of the layers' output matrices keeps their contribution small beside the
// embedding. The next token then depends mostly on the last one, so that texts run into loops and
// drafts are accepted.
void AddRandom(GgufWriter& writer, const std::string& name, int64_t rows, int64_t cols,
               uint64_t stream, float spread = 1.7f) {
  writer.AddTensor(name, DType::kF32, {rows, cols}, [=](std::span<std::byte> out) {
    const float scale = spread / std::sqrt(static_cast<float>(cols));
    for (int64_t i = 0; i < rows * cols; ++i) {
      const double u = Uniform(7, stream, static_cast<uint64_t>(i));
      const auto value = static_cast<float>(2 * u - 1) * scale;
      std::memcpy(out.data() + i * static_cast<int64_t>(sizeof value), &value, sizeof value);
    }
  });
}

void AddOnes(GgufWriter& writer, const std::string& name, int64_t size) {
  writer.AddTensor(name, DType::kF32, {size}, [=](std::span<std::byte> out) {
    const float one = 1;
    for (int64_t i = 0; i < size; ++i) std::memcpy(out.data() + i * 4, &one, sizeof one);
  });
}

Status WriteTinyModel(const std::string& path) {
  const ModelConfig c = Shape();
  GgufWriter writer;
  WriteModelMetadata(c, ByteVocabulary(), writer);
  AddRandom(writer, "token_embd.weight", c.vocab, c.hidden, 1);
  AddRandom(writer, "output.weight", c.vocab, c.hidden, 2);
  AddOnes(writer, "output_norm.weight", c.hidden);
  for (int l = 0; l < c.layers; ++l) {
    const std::string block = "blk." + std::to_string(l) + ".";
    const auto stream = 10 * (static_cast<uint64_t>(l) + 1);
    AddOnes(writer, block + "attn_norm.weight", c.hidden);
    AddOnes(writer, block + "ffn_norm.weight", c.hidden);
    AddRandom(writer, block + "attn_q.weight", c.heads * c.head_dim, c.hidden, stream);
    AddRandom(writer, block + "attn_k.weight", c.kv_heads * c.head_dim, c.hidden, stream + 1);
    AddRandom(writer, block + "attn_v.weight", c.kv_heads * c.head_dim, c.hidden, stream + 2);
    AddRandom(writer, block + "attn_output.weight", c.hidden, c.heads * c.head_dim, stream + 3,
              0.2f);
    AddRandom(writer, block + "ffn_gate.weight", c.ffn, c.hidden, stream + 4);
    AddRandom(writer, block + "ffn_up.weight", c.ffn, c.hidden, stream + 5);
    AddRandom(writer, block + "ffn_down.weight", c.hidden, c.ffn, stream + 6, 0.2f);
  }
  return writer.Write(path);
}

}  // namespace
}  // namespace foretoken

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const foretoken::Status status = foretoken::WriteTinyModel(argv[1]);
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", status.error().message.c_str());
  return 1;
}
