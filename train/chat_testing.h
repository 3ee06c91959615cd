// Vocabularies and chat templates for tests, modelled on those of other model families.
#pragma once

#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "text/bpe_trainer.h"
#include "text/documents.h"
#include "text/tokenizer_data.h"

namespace foretoken::train {

// Reads a model family's chat template (tests/parity/jinja/README.md); "" if there is none.
inline std::string TemplateNamed(const std::string& name) {
  std::ifstream in(FT_SOURCE_DIR "/tests/parity/jinja/templates/" + name + ".jinja");
  return {std::istreambuf_iterator<char>(in), {}};
}

// A SentencePiece vocabulary like that of Llama 2: <unk> <s> </s>, the bytes, scored pieces.
inline TokenizerData PieceVocabulary() {
  TokenizerData data;
  data.kind = TokenizerKind::kSentencePiece;
  const auto add = [&data](const std::string& token, TokenType type) {
    data.tokens.push_back(token);
    data.types.push_back(type);
    data.scores.push_back(-static_cast<float>(data.tokens.size()));
  };
  add("<unk>", TokenType::kUnknown);
  add("<s>", TokenType::kControl);
  add("</s>", TokenType::kControl);
  for (int byte = 0; byte < 256; ++byte) {
    char name[8];
    std::snprintf(name, sizeof(name), "<0x%02X>", byte);
    add(name, TokenType::kByte);
  }
  for (const char* piece : {"▁It", "▁is", "▁▁", "▁", "I", "t", "s", ".", "▁I", "It", "is"}) {
    add(piece, TokenType::kNormal);
  }
  data.unknown = 0, data.bos = 1, data.eos = 2;
  data.add_bos = true;
  return data;
}

// A byte-level BPE vocabulary whose first ids are `controls`.
inline TokenizerData ByteVocabulary(const std::vector<std::string>& controls) {
  BpeTrainerOptions options;
  options.vocab_size = 300;
  options.pre = "llama-bpe";
  options.special_tokens = controls;
  std::string text;
  for (int i = 0; i < 20; ++i) text += "It is. No cat there. Be brief.\n";
  return *TrainByteBpe(std::vector<std::string_view>{text}, options);
}

inline TokenizerData Llama3Vocabulary() {
  TokenizerData data = ByteVocabulary(
      {"<|begin_of_text|>", "<|eot_id|>", "<|start_header_id|>", "<|end_header_id|>"});
  data.bos = 0, data.eos = 1;
  data.add_bos = true;
  return data;
}

inline TokenizerData QwenVocabulary() {
  TokenizerData data = ByteVocabulary({"<|endoftext|>", "<|im_start|>", "<|im_end|>"});
  data.eos = 2;
  return data;
}

inline TokenizerData PhiVocabulary() {
  TokenizerData data = ByteVocabulary(
      {"<s>", "<|endoftext|>", "<|end|>", "<|user|>", "<|assistant|>", "<|system|>"});
  data.bos = 0, data.eos = 1;
  data.add_bos = true;  // its template does not write bos
  return data;
}

inline TokenizerData WithTemplate(TokenizerData data, std::string chat_template) {
  data.chat_template = std::move(chat_template);
  return data;
}

using Turns = std::vector<DocumentTurn>;

inline const Turns kTalk = {{"user", "Is it?"},
                            {"assistant", "It is."},
                            {"user", "A cat?"},
                            {"assistant", "No cat there."}};

inline Turns WithSystem(Turns turns) {
  turns.insert(turns.begin(), {"system", "Be brief."});
  return turns;
}

}  // namespace foretoken::train
