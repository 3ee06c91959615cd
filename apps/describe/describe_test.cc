// Tests of the manual and the completions of invented commands; tests/cli/describe_test.sh covers
// the real ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "apps/command_line.h"
#include "apps/describe/completion.h"
#include "apps/describe/completion_words.h"
#include "apps/describe/definition.h"
#include "apps/describe/footer.h"
#include "apps/describe/man_page.h"
#include "apps/describe/roff.h"

namespace foretoken {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::Pair;

int runs = 0;  // number of command runs that got beyond parsing

// A command with every kind of option.
int Run_paint(int argc, char** argv) {
  CLI::App app("Paints a wall's front.", "foretoken paint");
  app.footer(
      "Colours dry\nslowly.\n"
      "\n"
      "Examples:\n"
      "  foretoken paint wall.svg --with 'C:\\red' \\\n"
      "      --coats 2\n"
      "\n"
      "Exit status: 0 done, 1 failed, or half done, 3 the wall is gone.");
  std::string wall, colour, brush, key, area = "front";
  std::vector<std::string> tools, motifs;
  int coats = 1;
  bool quiet = false;
  app.add_option("wall", wall, "the wall")->type_name("FILE")->required();
  app.add_option("motif", motifs, "what to paint");
  app.add_option("-c,--colour", colour, "the colour")->check(CLI::IsMember({"red", "blue"}));
  CLI::Option* tool =
      app.add_option("--tools", tools, "with what\nbrush: is soft\nA roll is fast.");
  OfferValueList(tool, {"brush", "roll"})->type_name("TOOL")->group("Tools: hand");
  app.add_option("--coats", coats, "how many")->check(CLI::Range(1, 9))->capture_default_str();
  app.add_option("--key", key, "of the shed.")->envname("SHED_KEY")->excludes(tool);
  app.add_option("--out", brush, "the picture")->check(WritableFile());
  app.add_option("--drying", area, "in the air")->type_name("fast|slow|SECONDS");
  app.add_flag("-q,--quiet", quiet, "say nothing");
  app.add_option("--hidden", area, "hidden")->group("");
  if (const auto status = ParseCommandLine(app, argc, argv)) return *status;
  ++runs;
  return kExitDone;
}

int Run_tool(int argc, char** argv) {
  CLI::App app("Cares for tools.", "foretoken tool");
  app.footer("A footer.");
  app.require_subcommand(1);
  int count = 0;
  std::string model;
  CLI::App& wash = *app.add_subcommand("wash", "with water");
  auto* source = wash.add_option_group("source");
  source->add_option("--model", model, "which")->type_name("MODEL");
  app.add_subcommand("dry", "in the sun")->add_option("--hours", count, "how long");
  if (const auto status = ParseCommandLine(app, argc, argv)) return *status;
  ++runs;
  return kExitDone;
}

const Subcommand kPaint{"paint", "paint a wall", Run_paint};
const Subcommand kTool{"tool", "care for tools", Run_tool};

const OptionDefinition& Option(const CommandDefinition& command, const std::string& name) {
  for (const OptionDefinition& option : command.options) {
    if (option.position == name || std::ranges::find(option.names, name) != option.names.end())
      return option;
  }
  ADD_FAILURE() << "no option " << name;
  return command.options.front();
}

TEST(DefinitionTest, IsReadWithoutRunningTheCommand) {
  runs = 0;
  const CommandDefinition paint = ReadDefinition(kPaint);
  EXPECT_EQ(runs, 0);
  EXPECT_FALSE(DefinitionVisit::IsActive());
  EXPECT_EQ(paint.name, "paint");
  EXPECT_EQ(paint.summary, "paint a wall");
  EXPECT_EQ(paint.description, "Paints a wall's front.");
  std::string name = "paint", wall = "wall.svg";
  char* argv[] = {name.data(), wall.data(), nullptr};
  EXPECT_EQ(Run_paint(2, argv), kExitDone);  // parses again after the visit
  EXPECT_EQ(runs, 1);
}

TEST(DefinitionTest, HasWhatCli11KnowsOfOptions) {
  const CommandDefinition paint = ReadDefinition(kPaint);
  const OptionDefinition& wall = Option(paint, "wall");
  EXPECT_TRUE(wall.is_argument());
  EXPECT_TRUE(wall.is_required);
  EXPECT_TRUE(wall.values.is_file);
  EXPECT_FALSE(wall.is_repeatable);
  EXPECT_TRUE(Option(paint, "motif").is_repeatable);
  const OptionDefinition& colour = Option(paint, "--colour");
  EXPECT_THAT(colour.names, ElementsAre("-c", "--colour"));
  EXPECT_EQ(colour.type, "TEXT");
  EXPECT_THAT(colour.values.names, ElementsAre("red", "blue"));
  EXPECT_TRUE(colour.values.are_all);
  EXPECT_FALSE(colour.values.is_list);
  const OptionDefinition& tools = Option(paint, "--tools");
  EXPECT_EQ(tools.type, "TOOL");
  EXPECT_EQ(tools.group, "Tools: hand");
  EXPECT_THAT(tools.values.names, ElementsAre("brush", "roll"));
  EXPECT_TRUE(tools.values.is_list);
  EXPECT_FALSE(tools.values.are_all);
  const OptionDefinition& coats = Option(paint, "--coats");
  EXPECT_EQ(coats.type, "INT");
  EXPECT_EQ(coats.range, "1 to 9");
  EXPECT_EQ(coats.default_value, "1");
  const OptionDefinition& key = Option(paint, "--key");
  EXPECT_EQ(key.environment, "SHED_KEY");
  EXPECT_THAT(key.excludes, ElementsAre("--tools"));
  EXPECT_THAT(Option(paint, "--drying").values.names, ElementsAre("fast", "slow"));
  EXPECT_TRUE(Option(paint, "--out").values.is_file);
  EXPECT_FALSE(Option(paint, "--quiet").takes_value());
  EXPECT_FALSE(Option(paint, "--help").takes_value());
  for (const OptionDefinition& option : paint.options) EXPECT_NE(option.help, "hidden");
}

TEST(DefinitionTest, OffersChangeNeitherValuesNorHelp) {
  CLI::App app("", "foretoken paint");
  std::string tool;
  OfferValues(app.add_option("--tool", tool, "with what"), {"brush"});
  EXPECT_THAT(app.help(), HasSubstr("--tool TEXT  "));
  EXPECT_THAT(app.help(), Not(HasSubstr("brush")));
  app.parse("--tool spoon", false);
  EXPECT_EQ(tool, "spoon");
}

TEST(DefinitionTest, HasPartsAndTheOptionsOfGroups) {
  const CommandDefinition tool = ReadDefinition(kTool);
  ASSERT_EQ(tool.parts.size(), 2u);
  const CommandDefinition& wash = tool.parts[0];
  EXPECT_EQ(wash.name, "wash");
  EXPECT_EQ(wash.summary, "with water");
  EXPECT_EQ(wash.footer, "") << "inherited ones are not repeated";
  EXPECT_EQ(Option(wash, "--model").group, "source");
  int helps = 0;
  for (const OptionDefinition& option : wash.options) helps += option.names.back() == "--help";
  EXPECT_EQ(helps, 1);
}

TEST(FooterTest, IsTakenApart) {
  const Footer footer = ReadFooter(ReadDefinition(kPaint).footer);
  ASSERT_EQ(footer.notes.size(), 1u);
  EXPECT_THAT(footer.notes[0].lines, ElementsAre("Colours dry", "slowly."));
  EXPECT_FALSE(footer.notes[0].is_verbatim);
  EXPECT_THAT(footer.examples,
              ElementsAre("  foretoken paint wall.svg --with 'C:\\red' \\", "      --coats 2"));
  EXPECT_THAT(footer.exit_statuses,
              ElementsAre(Pair("0", "done"), Pair("1", "failed, or half done"),
                          Pair("3", "the wall is gone")));
}

TEST(FooterTest, TablesStayAsTheyAre) {
  const Footer footer =
      ReadFooter("Commands:\n/help   lists them\n/quit   leaves\n\n  foretoken paint x\n\nMore.");
  ASSERT_EQ(footer.notes.size(), 3u);
  EXPECT_FALSE(footer.notes[0].is_verbatim);
  EXPECT_TRUE(footer.notes[1].is_verbatim);
  EXPECT_EQ(footer.notes[1].lines.size(), 2u);
  EXPECT_THAT(footer.notes[2].lines, ElementsAre("More."));
  EXPECT_THAT(footer.examples, ElementsAre("  foretoken paint x"));
  EXPECT_THAT(footer.exit_statuses, IsEmpty());
  EXPECT_THAT(ReadFooter("").notes, IsEmpty());
}

TEST(RoffTest, EscapesWhatRoffWouldRead) {
  EXPECT_EQ(RoffText("a\\b --c 'd' \"e\" `f` ^~"),
            "a\\eb \\-\\-c \\(aqd\\(aq \\(dqe\\(dq \\(gaf\\(ga \\(ha\\(ti");
  EXPECT_EQ(RoffText("τ 😀"), "\\[u03C4] \\[u1F600]");
  EXPECT_EQ(RoffText("\xff"), "\xff");
}

TEST(RoffTest, TextIsNeverARequest) {
  RoffPage page("x", "y");
  page.Paragraph(".hidden\n  and more");
  const std::vector<std::string> lines = {"'quoted", ".SH x", "  .indented", ""};
  page.Verbatim(lines);
  page.Item(".tag", "");
  EXPECT_THAT(page.text(), HasSubstr("\n\\&.hidden and more\n"));
  EXPECT_THAT(page.text(), HasSubstr(".nf\n\\(aqquoted\n\\&.SH x\n  .indented\n\n.fi\n"));
  EXPECT_THAT(page.text(), HasSubstr(".TP\n\\&.tag\n\\&\n"));
}

TEST(ManualPageTest, SaysWhatTheDefinitionSays) {
  const std::string page = ManualPage(ReadDefinition(kPaint), "foretoken 1.2");
  EXPECT_THAT(page, HasSubstr(".TH \"FORETOKEN\\-PAINT\" 1 \"\" \"foretoken 1.2\""));
  EXPECT_THAT(page, HasSubstr("\nforetoken\\-paint \\- paint a wall\n"));
  EXPECT_THAT(page, HasSubstr("\\fBforetoken paint\\fR [OPTIONS] FILE [MOTIF]...\n"));
  EXPECT_THAT(page, HasSubstr("Paints a wall\\(aqs front.\n"));
  EXPECT_THAT(page, HasSubstr("\\fB\\-c\\fR, \\fB\\-\\-colour\\fR \\fITEXT\\fR\n"
                              "the colour. One of red, blue.\n"));
  EXPECT_THAT(page, HasSubstr("how many. 1 to 9. Default: 1.\n"));
  EXPECT_THAT(page,
              HasSubstr("of the shed. Environment variable: SHED_KEY. Not with \\-\\-tools.\n"));
  EXPECT_THAT(page, HasSubstr(".SS \"Tools: hand\"\n"));
  EXPECT_THAT(page,
              HasSubstr("with what. Not with \\-\\-key.\n.RS\n.TP\n\\fBbrush\\fR\nis soft\n.PP\n"
                        "A roll is fast.\n.RE\n"));
  EXPECT_THAT(page, HasSubstr(".SH \"EXAMPLES\"\n.nf\n  foretoken paint wall.svg "
                              "\\-\\-with \\(aqC:\\ered\\(aq \\e\n"));
  EXPECT_THAT(page, HasSubstr(".TP\n\\fB3\\fR\nthe wall is gone\n"));
  EXPECT_THAT(page, HasSubstr(".SH \"ENVIRONMENT\"\n.TP\n\\fBSHED_KEY\\fR\n"));
  EXPECT_THAT(page, Not(HasSubstr("hidden")));
}

TEST(ManualPageTest, HasASectionForEachPart) {
  const std::string page =
      ManualPage(ReadDefinition(kTool), "foretoken 1.2", "usage: own --help\n");
  EXPECT_THAT(page, HasSubstr("\\fBforetoken tool\\fR COMMAND [OPTIONS]\n"));
  EXPECT_THAT(page, HasSubstr(".TP\n\\fBwash\\fR\nwith water\n"));
  EXPECT_THAT(page, HasSubstr(".SH \"FORETOKEN TOOL WASH\"\n"));
  EXPECT_THAT(page, HasSubstr("\\fB\\-\\-model\\fR \\fIMODEL\\fR\n"));
  EXPECT_THAT(page, HasSubstr(".SH \"FURTHER OPTIONS\"\n"));
  EXPECT_THAT(page, HasSubstr("\nusage: own \\-\\-help\n"));
  EXPECT_THAT(page, HasSubstr("\\fB2\\fR\nbad usage\n"));
  EXPECT_THAT(page, Not(HasSubstr("\\-\\-check"))) << "it has no such option";
}

TEST(ManualPageTest, TheOverviewListsTheCommands) {
  const Subcommand commands[] = {kPaint, kTool};
  const std::string page = OverviewPage(commands, "foretoken 1.2");
  EXPECT_THAT(page, HasSubstr(".TP\n\\fBpaint\\fR\npaint a wall\n"));
  EXPECT_THAT(page, HasSubstr("\\fB3\\fR\n\\-\\-check found a difference\n"));
  EXPECT_THAT(page, HasSubstr("\\fBforetoken\\-paint\\fR(1), \\fBforetoken\\-tool\\fR(1)\n"));
}

TEST(CompletionTest, WordsAreSafe) {
  EXPECT_EQ(ShellQuoted("it's"), "'it'\\''s'");
  EXPECT_EQ(ShortHelp("short\nmore"), "short");
  const std::string cut = ShortHelp(
      "the seed of the noise (0): one seed writes one text, whatever the drafter and the threads");
  EXPECT_EQ(cut, "the seed of the noise (0): one seed writes one text ...");
  OptionDefinition option;
  option.values.names = {"pld+h", "a b", "$(x)", "q8_0"};
  EXPECT_THAT(PlainValues(option), ElementsAre("pld+h", "q8_0"));
}

std::vector<CommandDefinition> Definitions() {
  return {ReadDefinition(kPaint), ReadDefinition(kTool)};
}

TEST(CompletionTest, BashKnowsPlacesAndValues) {
  const std::string script = BashCompletion(Definitions());
  EXPECT_THAT(script, HasSubstr("'commands ') REPLY='paint tool' ;;"));
  EXPECT_THAT(script, HasSubstr("'commands tool') REPLY='wash dry' ;;"));
  EXPECT_THAT(script, HasSubstr("'value paint -c' | 'value paint --colour') REPLY='red blue' ;;"));
  EXPECT_THAT(script, HasSubstr("'value paint --tools') REPLY='brush roll' ;;"));
  EXPECT_THAT(script, HasSubstr("'value paint --out') REPLY=':file' ;;"));
  EXPECT_THAT(script, HasSubstr("'value paint --key') REPLY=':text' ;;"));
  EXPECT_THAT(script, HasSubstr("'argument paint') REPLY=':file' ;;"));
  EXPECT_THAT(script, HasSubstr("'options tool wash') REPLY='--help --model' ;;"));
  EXPECT_THAT(script, Not(HasSubstr("--hidden")));
  EXPECT_THAT(script, Not(HasSubstr("'value paint --quiet'")));
}

TEST(CompletionTest, ZshKnowsPlacesAndValues) {
  const std::string script = ZshCompletion(Definitions());
  EXPECT_THAT(script, testing::StartsWith("#compdef foretoken\n"));
  EXPECT_THAT(script, HasSubstr("    'paint:paint a wall'\n"));
  EXPECT_THAT(script, HasSubstr("'(-c --colour)-c+[the colour]:TEXT:(red blue)'"));
  EXPECT_THAT(script, HasSubstr("'(-c --colour)--colour=[the colour]:TEXT:(red blue)'"));
  EXPECT_THAT(script, HasSubstr(":TOOL:{_sequence compadd - brush roll}'"));
  EXPECT_THAT(script, HasSubstr("'(-q --quiet)-q[say nothing]'"));
  EXPECT_THAT(script, HasSubstr("_foretoken_tool_wash() {\n  _arguments -s"));
  EXPECT_THAT(script, HasSubstr("--model=[which]:MODEL:_files'"));
}

TEST(CompletionTest, FishKnowsPlacesAndValues) {
  const std::string script = FishCompletion(Definitions());
  EXPECT_THAT(script, HasSubstr("-n '__foretoken_has_typed' -a paint -d 'paint a wall'\n"));
  EXPECT_THAT(script, HasSubstr("-n '__foretoken_has_typed tool' -a wash -d 'with water'\n"));
  EXPECT_THAT(script, HasSubstr("-n '__foretoken_runs paint' -s c -l colour -x -a 'red blue'"));
  EXPECT_THAT(script, HasSubstr("-l tools -x -a '(__fish_append , brush roll)'"));
  EXPECT_THAT(script, HasSubstr("-n '__foretoken_runs tool wash' -l model -r -F -d 'which'\n"));
  EXPECT_THAT(script, HasSubstr("-n '__foretoken_runs paint' -F\n"));
}

}  // namespace
}  // namespace foretoken
