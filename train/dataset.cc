#include "dataset.h"

#include <utility>

namespace foretoken::train {

Document RenderChatMl(const TextDocument& document) {
  Document rendered;
  for (const DocumentTurn& turn : document.turns) {
    if (turn.role.empty()) return {{{turn.text + "\n", kEndOfText, false}}};
    const bool from_user = turn.role != "assistant";
    const std::string gap = rendered.segments.empty() ? "" : "\n";
    rendered.segments.push_back({gap, kTurnStart, from_user});
    std::string text = turn.role;
    text += '\n';
    text += turn.text;
    rendered.segments.push_back({std::move(text), kTurnEnd, from_user});
  }
  rendered.segments.push_back({"\n", kEndOfText, false});
  return rendered;
}

const char* const kChatTemplate =
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] "
    "+ '<|im_end|>' + '\\n' }}{% endfor %}{% if add_generation_prompt %}{{ "
    "'<|im_start|>assistant\\n' }}{% endif %}";

}  // namespace foretoken::train
