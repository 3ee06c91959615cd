// When the system has no more memory, a request ends with an error, never with an abort, and what
// was written stays. This program's own mmap fails on demand.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>

#include "base/step_testing.h"
#include "rig.h"

namespace {

int mmaps_left = INT_MAX;  // anonymous mappings that will still succeed

}  // namespace

extern "C" void* mmap(void* at, size_t length, int protection, int flags, int file,
                      off_t offset) noexcept {
  if ((flags & MAP_ANONYMOUS) != 0 && mmaps_left != INT_MAX && mmaps_left-- <= 0) {
    mmaps_left = 0;
    errno = ENOMEM;
    return MAP_FAILED;
  }
  return reinterpret_cast<void*>(syscall(SYS_mmap, at, length, protection, flags, file, offset));
}

namespace foretoken {
namespace {

constexpr int kPrompt = 40, kNew = 24;

// While it lives, anonymous mappings fail after the first `allowed`.
class Shortage {
 public:
  explicit Shortage(int allowed) { mmaps_left = allowed; }
  ~Shortage() { mmaps_left = INT_MAX; }
  Shortage(const Shortage&) = delete;
  Shortage& operator=(const Shortage&) = delete;
  static bool Struck() { return mmaps_left == 0; }
};

void ExpectSaysSo(const Error& error) {
  EXPECT_NE(error.message.find("memory"), std::string::npos) << error.message;
}

// Writes one answer. Returns the error that ended it, if any.
Status Answer(Generator& generator, Session& session, std::span<const Token> prompt, int max_new) {
  FT_RETURN_IF_ERROR(generator.Prefill(session, prompt, max_new));
  Session* batch[] = {&session};
  while (!session.done()) FT_RETURN_IF_ERROR(generator.Step(batch));
  return {};
}

class NoMemory : public ::testing::TestWithParam<std::string> {
 protected:
  std::unique_ptr<Model> NewModel() {
    return *NewRandomModel(TinyConfig(2), DType::kF32, 1, *backend_, {.max_rows = 64});
  }

  std::unique_ptr<Backend> backend_ = *NewBackend("cpu", {.threads = 1});
};

TEST_P(NoMemory, EndsInAnErrorWhereverItStrikes) {
  Target files(TinyConfig(2));
  const Json options = GetParam() == "none" ? Json::object() : files.OptionsFor(GetParam());
  const std::vector<Token> prompt = RepetitivePrompt(3, kPrompt, 97);
  Rig plain(files, "none");
  const std::vector<Token> expected = plain.Decode(prompt, kNew)->tokens;
  const auto tree = *NewTreePolicy("eagle2:total_token=20,depth=3,top_k=4");
  bool done = false;
  int errors = 0, late = 0;
  for (int allowed = 0; !done; allowed += TestStep()) {
    ASSERT_LT(allowed, 2000);
    backend_ = *NewBackend("cpu", {.threads = 1});
    const auto model = NewModel();
    const auto verifier = *NewVerifier("exact", {*backend_, Json::object()});
    std::unique_ptr<Drafter> drafter;
    std::unique_ptr<Generator> generator;
    std::unique_ptr<Session> session;
    {
      const Shortage shortage(allowed);
      if (GetParam() != "none") {
        auto made = NewDrafter(GetParam(), {*model, 256, options, "", files.tokenizer.get()});
        if (!made.ok()) {
          ExpectSaysSo(made.error());
          ++errors;
          continue;
        }
        drafter = *std::move(made);
      }
      generator = std::make_unique<Generator>(
          *model, drafter.get(), *verifier,
          GeneratorOptions{.limits = {.max_nodes = 20, .max_depth = 19}, .policy = tree.get()});
      session = generator->Start({.capacity = 256, .cache_type = DType::kF32});
      const Status status = Answer(*generator, *session, prompt, kNew);
      done = status.ok() && !Shortage::Struck();
      if (!status.ok()) {
        ExpectSaysSo(status.error());
        EXPECT_TRUE(session->is_broken());
        ++errors;
        if (session->written().size() > 1) ++late;
        ASSERT_LE(session->tokens.size(), expected.size());
        if (session->prompt > 0) {
          EXPECT_TRUE(std::ranges::equal(session->tokens,
                                         std::span(expected).first(session->tokens.size())))
              << "what was written is lost";
        }
      }
    }
    // When there is memory again, the session that failed writes the whole answer.
    ASSERT_TRUE(Answer(*generator, *session, prompt, kNew).ok());
    ASSERT_EQ(session->tokens, expected) << allowed;
  }
  EXPECT_GT(errors, 0);
}

// A session whose fork fails goes on with the same text.
TEST_P(NoMemory, AForkThatFailsLeavesTheOriginal) {
  Target target(TinyConfig(2));
  Rig rig(target, GetParam()), plain(target, "none");
  const std::vector<Token> prompt = RepetitivePrompt(3, kPrompt, 97);
  const std::vector<Token> expected = plain.Decode(prompt, kNew)->tokens;
  for (int allowed = 0; allowed < 4; ++allowed) {
    const auto session = rig.Start({});
    ASSERT_TRUE(rig.generator().Prefill(*session, prompt, kNew).ok());
    Session* batch[] = {session.get()};
    for (int cycle = 0; cycle < 3; ++cycle) Step(rig.generator(), batch);
    {
      // The pool may have spare pages for the first forks, so forks are made until one fails.
      constexpr size_t kMostForks = 400;
      std::vector<std::unique_ptr<Session>> forks;
      const Shortage shortage(allowed);
      bool failed = false;
      while (!failed && forks.size() < kMostForks) {
        auto fork = rig.generator().Fork(*session, {.capacity = 256, .cache_type = DType::kF32});
        failed = !fork.ok();
        if (failed) {
          ExpectSaysSo(fork.error());
        } else {
          forks.push_back(*std::move(fork));
        }
      }
      EXPECT_TRUE(failed) << allowed;
    }
    while (!session->done()) Step(rig.generator(), batch);
    ASSERT_EQ(session->tokens, expected) << allowed;
  }
}

INSTANTIATE_TEST_SUITE_P(Drafters, NoMemory, ::testing::ValuesIn(DrafterNames()),
                         [](const auto& param) { return ParameterName(param.param); });

TEST(NoMemoryForLongAnswers, EndsThemWhereTheyAre) {
  for (const DType type : {DType::kF32, DType::kF16}) {
    Target target(TinyConfig(2));
    Rig plain(target, "none", 600);
    const std::vector<Token> prompt = RepetitivePrompt(3, kPrompt, 97);
    const auto expected = plain.Decode(prompt, 500, {}, 600)->tokens;
    bool grew_in_vain = false;
    for (int allowed = 0; allowed < 200 && !grew_in_vain; ++allowed) {
      Target fresh(TinyConfig(2));
      Rig rig(fresh, "none", 600);
      const auto session = rig.generator().Start({.capacity = 600, .cache_type = type});
      const Shortage shortage(allowed);
      const Status status = Answer(rig.generator(), *session, prompt, 500);
      if (status.ok()) break;
      ExpectSaysSo(status.error());
      EXPECT_NE(status.error().message.find("-c"), std::string::npos)
          << status.error().message << " does not name the option";
      const std::vector<Token>& written = session->tokens;
      if (type == DType::kF32) {
        EXPECT_TRUE(std::equal(written.begin(), written.end(), expected.begin()));
      }
      grew_in_vain = session->written().size() > 200;
    }
    EXPECT_TRUE(grew_in_vain) << "no growth in the middle of an answer failed";
  }
}

TEST(NoMemoryForModels, IsAnError) {
  bool done = false;
  for (int allowed = 0; !done; ++allowed) {
    ASSERT_LT(allowed, 2000);
    const auto backend = *NewBackend("cpu", {.threads = 1});
    const Shortage shortage(allowed);
    const auto model = NewRandomModel(TinyConfig(2), DType::kF32, 1, *backend, {.max_rows = 64});
    if (!model.ok()) ExpectSaysSo(model.error());
    done = model.ok();
  }
}

}  // namespace
}  // namespace foretoken
