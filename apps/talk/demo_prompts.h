// The demo's prompts: one of each kind of task, phrased as users would.
#pragma once

#include <array>
#include <string_view>

namespace foretoken {

struct DemoPrompt {
  std::string_view title;
  std::string_view text;
};

inline constexpr std::array<DemoPrompt, 4> kDemoPrompts{{
    {"a question", "Why do leaves change their colour in autumn?"},
    {"a summary",
     "Summarise this text in two sentences.\n\n"
     "The lighthouse on Gull Island was built in 1868 by the harbour company of the nearby town. "
     "Its lamp burned whale oil for twenty years before it was changed to paraffin. In 1911 a "
     "storm "
     "destroyed the keeper's house, and the keeper and his family lived in the tower for two "
     "winters. The lamp was made electric in 1954, and since 1987 no keeper has lived on the "
     "island. Today the tower belongs to a society that opens it to visitors in summer."},
    {"an edit of code",
     "Write this code for the name `Account` in place of `User`.\n"
     "```python\n"
     "class User:\n"
     "    def __init__(self, name, email):\n"
     "        self.name = name\n"
     "        self.email = email\n"
     "\n"
     "    def greet(self):\n"
     "        return f\"Hello, {self.name}!\"\n"
     "\n"
     "    def contact(self):\n"
     "        return f\"{self.name} <{self.email}>\"\n"
     "```"},
    {"an edit of a text",
     "Correct the spelling of this text, and answer with the corrected text only.\n\n"
     "The libary on the main sqare opens evry morning at nine. It lends books, films and musical "
     "instruments, and a small cafe sells coffee and cake. In sumer there are readings in the "
     "garden, and in winter a club of chess players meets ther on Thursdays."},
}};

}  // namespace foretoken
