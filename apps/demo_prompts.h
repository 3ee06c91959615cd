// What the demo asks: one prompt of each kind of work, in the words of its users.
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
     "Please modify the code so that the name `values` becomes `prices`.\n"
     "```python\n"
     "def summarise(values):\n"
     "    \"\"\"Return the smallest, the largest and the mean of the values.\"\"\"\n"
     "    if not values:\n"
     "        raise ValueError(\"values is empty\")\n"
     "    total = 0\n"
     "    smallest = largest = values[0]\n"
     "    for value in values:\n"
     "        total += value\n"
     "        smallest = min(smallest, value)\n"
     "        largest = max(largest, value)\n"
     "    return smallest, largest, total / len(values)\n"
     "```"},
    {"an edit of a text",
     "Correct the spelling of this text, and answer with the corrected text only.\n\n"
     "The libary on the main sqare opens evry morning at nine. It lends books, films and musical "
     "instruments, and a small cafe sells coffee and cake. In sumer there are readings in the "
     "garden, and in winter a club of chess players meets ther on Thursdays."},
}};

}  // namespace foretoken
