// Encodes conversations as the engine does: by the target's chat template or, if it has none, as
// ChatML.
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
  std::vector<TextSpan> answers;  // in order; from the end of the prompt through the stop token
};

// Renders a conversation by the template and locates the assistant's answers. An answer is what the
// rendering of the messages up to it adds to the rendering of those before it (with the generation
// prompt). Where later messages change these renderings (thinking is dropped, a system prompt
// moves), the answer's text is searched for. Errors: a conversation that the template rejects; an
// answer that is not in the rendered text.
Result<Transcript> RenderTranscript(const ChatPrompter& prompter, const Tokenizer& tokenizer,
                                    std::span<const ChatMessage> messages);

// Encodes conversations and plain texts. Answers are tokenized separately, just as in serving, so
// the ids equal those of ChatPrompter::EncodeTranscript unless a token of the latter spans an
// answer's boundary. A plain text begins with bos if the tokenizer adds bos, and ends with eos or
// another end-of-generation token.
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
