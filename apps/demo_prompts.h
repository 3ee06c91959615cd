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
    {"chat", "Why do leaves change their colour in autumn?"},
    {"summarise with quotes",
     "Read the passage about the lighthouse and answer the question. Quote the sentence that "
     "supports your answer.\n\n"
     "Passage: The lighthouse on Gull Island was built in 1868 by the harbour company of the "
     "nearby "
     "town. Its lamp burned whale oil for twenty years before it was changed to paraffin. In 1911 "
     "a "
     "storm destroyed the keeper's house, and the keeper and his family lived in the tower for two "
     "winters. The lamp was made electric in 1954, and since 1987 no keeper has lived on the "
     "island. "
     "Today the tower belongs to a society that opens it to visitors in summer.\n\n"
     "Question: When was the lamp made electric?"},
    {"edit this code",
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
    {"correct this text",
     "Text: The market on the square open every Saturday at eight. Farmers from the villages "
     "brings "
     "vegetables, cheese and bread, and a old man sells honey from his own bees. By noon most of "
     "the "
     "stalls is empty, because people from the city comes early too buy the best things. In winter "
     "the market is smaller, but their is always hot soup for everyone.\n\n"
     "Please edit the input text so that it is grammatically correct. Your response should only "
     "include the edited output."},
}};

}  // namespace foretoken
