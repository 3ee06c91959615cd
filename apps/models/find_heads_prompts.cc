#include "apps/models/find_heads_prompts.h"

namespace foretoken {
namespace {

constexpr const char* kRequests[] = {
    "Summarise the following text in its own words where you can.\n\n",
    "Read the text and quote the two sentences that matter most.\n\n",
    "Repeat the text with only its most important sentences.\n\n",
    "Write a short summary of this article. Keep names and numbers exactly as they are.\n\n",
};

constexpr const char* kTexts[] = {
    "The ferry between Norby and Kestrel Point will not run from 3 March to 14 April. The harbour "
    "authority of Norby says that the ramp at Kestrel Point, built in 1962, has to be replaced. "
    "Passengers can take bus 41, which leaves every forty minutes, and cyclists travel free of "
    "charge.",
    "Researchers at the Institute of Soil Science measured the weight of earthworms in forty "
    "fields "
    "over six years. Fields that were not ploughed held three times as many earthworms. The "
    "authors, "
    "Maria Lindqvist and Oren Tal, warn that the fields differed in rainfall, too.",
    "The town library of Ashgrove opened a workshop for repairing bicycles, lamps and radios. "
    "Volunteers help on Tuesdays and Thursdays. In the first month 312 objects were repaired, "
    "among "
    "them a radio from 1938. The library plans a second workshop for clothes.",
    "A basalt column forms when a thick flow of lava cools slowly. The lava shrinks as it cools, "
    "and "
    "cracks run from the surface into the flow. The cracks meet at angles that make six-sided "
    "columns the most frequent. Columns with five or seven sides are found as well.",
    "Elena Markovic won the mountain race of Saint-Aubin on Sunday in 2 hours, 41 minutes and 9 "
    "seconds. She overtook Julie Perrin, who had led from the start, two kilometres before the "
    "end. "
    "Julie Perrin came second, 14 seconds behind. The race has been held since 1979.",
    "The museum lends its collection of 5,200 glass slides to schools. Each box holds thirty "
    "slides, "
    "a viewer and a booklet. Schools pay for the post and for broken slides. Requests must reach "
    "the "
    "museum six weeks before the lesson.",
    "Bread dough rises because yeast turns sugar into carbon dioxide and alcohol. Warm dough rises "
    "faster than cold dough. Cold dough tastes better, because the bacteria in it have more time "
    "to "
    "make acids. Bakers therefore let dough rest overnight in a cold room.",
    "The company Halden Textiles closes its factory in Vester on 30 June. The factory has made "
    "sails "
    "since 1921 and employs 84 people. The company offers them work in Halden, 120 kilometres "
    "away. "
    "The mayor of Vester, Tobias Holm, wants to buy the building for the town.",
};

}  // namespace

std::vector<std::string> DefaultHeadPrompts() {
  std::vector<std::string> prompts;
  for (const char* text : kTexts) {
    for (const char* request : kRequests) prompts.push_back(std::string(request) + text);
  }
  return prompts;
}

}  // namespace foretoken
