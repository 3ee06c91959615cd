// Conversations as the engine encodes them: by the target's own chat template or, where it has
// none, as ChatML.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "document_encoder.h"
#include "text/chat_prompt.h"

namespace foretoken::train {

// Bytes [begin, end) of a text.
struct TextSpan {
  size_t begin = 0, end = 0;
};

struct Transcript {
  std::string text;
  std::vector<TextSpan> answers;  // in order: what follows the prompt, up to the token that ends it
};

// A conversation as the template writes it, and where the assistant's answers are: between what the
// template makes of the messages before an answer, its opening included, and what it makes of the
// messages up to it. Where the template writes those otherwise once more messages follow (thinking
// left out, a system prompt moved), the answer is looked for by its words. Errors: what the
// template refuses; an answer that its text does not hold.
Result<Transcript> RenderTranscript(const ChatPrompter& prompter, const Tokenizer& tokenizer,
                                    std::span<const ChatMessage> messages);

// The ids are those of ChatPrompter::EncodeTranscript wherever no token reaches over an end of an
// answer: there, as when serving, one text ends and another begins. A text that is no conversation
// has bos before it where the tokenizer says so, and after it eos or what else ends generation.
class TranscriptEncoder final : public DocumentEncoder {
 public:
  TranscriptEncoder(const Tokenizer& tokenizer, ChatPrompter prompter, bool mask_user)
      : tokenizer_(tokenizer), prompter_(std::move(prompter)), mask_user_(mask_user) {}

  Result<EncodedDocument> Encode(const TextDocument& document) const override;

 private:
  EncodedDocument EncodeText(const std::string& text) const;

  const Tokenizer& tokenizer_;
  ChatPrompter prompter_;
  bool mask_user_;
};

}  // namespace foretoken::train
