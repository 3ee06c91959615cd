// Tests of --drafter auto.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "draft/drafter.h"
#include "draft/drafts_beside_testing.h"
#include "draft/found_drafts.h"

namespace foretoken {
namespace {

using ::testing::HasSubstr;

class AutomaticDrafter : public DraftsBesideTest {
 protected:
  Result<std::unique_ptr<Drafter>> New(const Json& options) {
    return NewDrafter("auto", {*model_, 64, options, target_path(), tokenizer_.get()});
  }
  std::vector<FoundDraft> Found() { return FindDrafts(*model_, tokenizer_.get(), target_path()); }
};

TEST_F(AutomaticDrafter, CopiesAloneIfThereIsNoDraft) {
  EXPECT_TRUE(Found().empty());
  const Json no_options = Json::object();
  const auto drafter = New(no_options);
  ASSERT_TRUE(drafter.ok()) << drafter.error().message;
  const auto copying = *NewDrafter("pld+h", {*model_, 64, no_options, "", nullptr});
  EXPECT_EQ((*drafter)->Needs().hidden, copying->Needs().hidden);
}

TEST_F(AutomaticDrafter, TakesTheDraftBesideTheModel) {
  Make("eagle", drafts() + "/b");
  Make("hass", drafts() + "/a");
  const auto found = Found();
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].drafter, "eagle");
  EXPECT_EQ(found[1].drafter, "hass");
  const auto drafter = New(Json::object());
  ASSERT_TRUE(drafter.ok()) << drafter.error().message;
  EXPECT_THAT((*drafter)->Needs().hidden, ::testing::Contains(config_.layers))
      << "the draft reads the last hidden state";
}

// When `auto` is joined with another drafter, each of its own parts is listed by name.
TEST_F(AutomaticDrafter, ListsItsOwnPartsWhenJoined) {
  Make("hass", drafts() + "/a");
  const auto drafter =
      NewDrafter("auto,lookahead", {*model_, 64, Json::object(), target_path(), tokenizer_.get()});
  ASSERT_TRUE(drafter.ok()) << drafter.error().message;
  std::vector<std::string> names;
  for (const DraftPart& part : (*drafter)->Parts()) names.push_back(part.name);
  EXPECT_THAT(names, ::testing::ElementsAre("pld+h", "hass", "lookahead"));
}

TEST_F(AutomaticDrafter, SkipsDraftsForOtherTargets) {
  config_.layers += 1;  // changes the file only: the model has one layer less
  Make("hass", drafts() + "/a");
  EXPECT_TRUE(Found().empty());
}

// Option `draft` does not say which method a file is for; the file itself does.
TEST_F(AutomaticDrafter, FindsTheDrafterByTheMethodInTheFile) {
  const Json made = Make("hass", folder_ / "elsewhere");
  const Json options = {{"draft", made["draft"]}};
  const auto drafter = New(options);
  ASSERT_TRUE(drafter.ok()) << drafter.error().message;
  EXPECT_THAT((*drafter)->Needs().hidden, ::testing::Contains(config_.layers));
}

TEST_F(AutomaticDrafter, ErrorsNameTheFileOrTheOption) {
  const Json missing = {{"draft", folder_ / "none.gguf"}}, unprefixed = {{"k", 3}};
  EXPECT_THAT(New(missing).error().message, HasSubstr("none.gguf"));
  EXPECT_THAT(New(unprefixed).error().message, HasSubstr("pld+h.KEY"));
}

}  // namespace
}  // namespace foretoken
