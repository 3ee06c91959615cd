#include "document_encoder.h"

#include <algorithm>
#include <array>
#include <unordered_map>

#include "dataset.h"
#include "transcript_encoder.h"

namespace foretoken::train {
namespace {

constexpr std::array<const char*, 3> kControls = {kEndOfText, kTurnStart, kTurnEnd};

class ChatMlEncoder final : public DocumentEncoder {
 public:
  ChatMlEncoder(const Tokenizer& tokenizer, bool mask_user)
      : tokenizer_(tokenizer), mask_user_(mask_user) {
    const auto& tokens = tokenizer.data().tokens;
    for (const char* name : kControls) {
      controls_[name] = static_cast<uint32_t>(std::ranges::find(tokens, name) - tokens.begin());
    }
  }

  Result<EncodedDocument> Encode(const TextDocument& document) const override {
    EncodedDocument out;
    EncodeOptions options;
    options.add_bos = false;
    const Document rendered = RenderChatMl(document);
    for (const Segment& s : rendered.segments) {
      for (Token t : tokenizer_.Encode(s.text, options)) {
        out.ids.push_back(static_cast<uint32_t>(t));
      }
      if (!s.control.empty()) out.ids.push_back(controls_.at(s.control));
      out.learn.resize(out.ids.size(), mask_user_ && s.from_user ? 0 : 1);
    }
    return out;
  }

 private:
  const Tokenizer& tokenizer_;
  bool mask_user_;
  std::unordered_map<std::string, uint32_t> controls_;
};

}  // namespace

bool RendersAsChatMl(const TokenizerData& tokenizer) {
  const bool has_controls = std::ranges::all_of(kControls, [&](const char* name) {
    return std::ranges::find(tokenizer.tokens, name) != tokenizer.tokens.end();
  });
  return has_controls &&
         (tokenizer.chat_template.empty() || tokenizer.chat_template == kChatTemplate);
}

Result<std::unique_ptr<DocumentEncoder>> NewDocumentEncoder(const Tokenizer& tokenizer,
                                                            bool mask_user,
                                                            const std::string& origin) {
  std::unique_ptr<DocumentEncoder> encoder;
  if (RendersAsChatMl(tokenizer.data())) {
    encoder = std::make_unique<ChatMlEncoder>(tokenizer, mask_user);
  } else {
    FT_ASSIGN_OR_RETURN(ChatPrompter prompter, ChatPrompter::Create(tokenizer, origin));
    encoder = std::make_unique<TranscriptEncoder>(tokenizer, std::move(prompter), mask_user);
  }
  return encoder;
}

}  // namespace foretoken::train
