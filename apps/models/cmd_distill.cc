// foretoken distill: has the target answer the questions of a data set, as training data for
// drafts.
#include <algorithm>
#include <cstdio>

#include "apps/command_line.h"
#include "apps/models/distill_file.h"
#include "apps/models/distill_record.h"
#include "apps/models/distill_share.h"
#include "apps/models/distill_task.h"
#include "apps/models/distiller.h"
#include "apps/runtime_args.h"
#include "base/interrupt.h"
#include "base/json.h"
#include "base/mapped_file.h"
#include "base/output_file.h"
#include "base/part_folder.h"
#include "base/progress.h"
#include "base/warning.h"
#include "base/writable.h"
#include "runtime/context.h"
#include "runtime/decoder.h"
#include "text/distilled.h"
#include "text/documents.h"

namespace foretoken {
namespace {

struct DistillArgs {
  ModelArgs model;
  SamplingArgs sampling;
  DraftArgs draft;
  DType cache_type = DType::kF16;
  std::string output;
  std::vector<std::string> data;
  int new_tokens = 512, context = 0, batch = 8, limit = 0, part_size = 64;
  std::vector<std::string> changes;
  bool force = false, quiet = false, share = false;
};

// All conversations that follow those of the output, answered by this process alone.
class WholeTask : public DistillTask {
 public:
  WholeTask(size_t first, size_t end, AppendedFile& output)
      : next_(first), done_(first), end_(end), output_(output) {}

  Result<std::optional<size_t>> Next() override {
    return next_ == end_ ? std::nullopt : std::optional<size_t>(next_++);
  }
  Status Keep(size_t index, const Transcript& transcript) override {
    done_ = index + 1;
    return transcript.empty() ? Status() : output_.Append(DistilledLine(index, transcript));
  }
  int64_t done() const override { return static_cast<int64_t>(done_); }

 private:
  size_t next_, done_, end_;
  AppendedFile& output_;
};

// The record of everything that the answers depend on.
Result<Json> RecordOf(const DistillArgs& args, const LoadedModel& loaded,
                      const DistillOptions& options) {
  FT_ASSIGN_OR_RETURN(Json data, RecordDataFiles(args.data));
  Json record = RecordModel(*loaded.file);
  record["data"] = std::move(data);
  record["new_tokens"] = options.new_tokens;
  record["context"] = options.session.capacity;
  record["cache_type"] = DTypeName(options.session.cache_type);
  AddSampling(options.session.sampling, record);
  FT_RETURN_IF_ERROR(AddVerifier(args.draft, record));
  return record;
}

Result<std::vector<TextDocument>> ReadAsked(const DistillArgs& args) {
  FT_ASSIGN_OR_RETURN(std::vector<TextDocument> documents, ReadDocuments(args.data));
  if (args.limit > 0 && std::ssize(documents) > args.limit) {
    documents.resize(static_cast<size_t>(args.limit));
  }
  return documents;
}

Result<DistillOptions> ResolveDistillOptions(const DistillArgs& args, const LoadedModel& loaded,
                                             const ChatPrompter& prompter) {
  const ModelConfig& config = loaded.model->config();
  FT_RETURN_IF_ERROR(CheckCacheType(config, args.cache_type));
  DistillOptions options{.new_tokens = args.new_tokens, .batch = args.batch};
  options.session.stop = prompter.StopTokens();
  options.session.cache_type = args.cache_type;
  FT_ASSIGN_OR_RETURN(options.session.capacity, ChooseContext(args.context, config, kUsualContext));
  FT_ASSIGN_OR_RETURN(options.session.sampling, ResolveSampling(args.sampling, *loaded.file));
  return options;
}

void WarnOfRefusals(const Refusals& refusals) {
  if (refusals.first.empty()) return;
  const auto counted = [](size_t count, const char* of_one, const char* of_more) {
    return std::to_string(count) + (count == 1 ? of_one : of_more);
  };
  std::string text;
  if (refusals.whole > 0) {
    text = counted(refusals.whole, " conversation is left out", " conversations are left out");
  }
  if (refusals.whole > 0 && refusals.in_part > 0) {
    text += " and " + counted(refusals.in_part, " ends early", " end early");
  } else if (refusals.in_part > 0) {
    text = counted(refusals.in_part, " conversation ends early", " conversations end early");
  }
  const bool is_one = refusals.whole + refusals.in_part == 1;
  Warn(text + ", as the chat template refuses " + (is_one ? "it: " : "them; the first, ") +
       refusals.first);
}

// Answers the documents of the task, until it is interrupted.
Status AnswerDocuments(const DistillArgs& args, std::span<const TextDocument> documents,
                       DistillTask& task, Distiller& distiller) {
  Status kept;
  size_t left_out = 0;
  const InterruptGuard guard;
  Progress progress("conversations", std::ssize(documents), args.quiet);
  progress.Update(task.done(), task.note());
  const Status status = distiller.Run(
      documents, [&] { return task.Next(); },
      [&](size_t index, const Transcript& transcript) {
        left_out += transcript.empty() ? 1 : 0;
        kept = task.Keep(index, transcript);
        progress.Update(task.done(), task.note());
        return kept.ok() && !InterruptGuard::Requested();
      });
  progress.Finish(task.note());
  FT_RETURN_IF_ERROR(status);
  FT_RETURN_IF_ERROR(kept);
  const Refusals& refusals = distiller.refusals();
  WarnOfRefusals(refusals);
  left_out -= std::min(left_out, refusals.whole);
  if (!args.quiet && left_out > 0) {
    std::fprintf(
        stderr,
        "%zu %s left out: no question, one asked before, no room for it, or an answer that repeats "
        "itself\n",
        left_out, left_out == 1 ? "document was" : "documents were");
  }
  if (!args.quiet && InterruptGuard::Requested()) {
    std::fputs("stopped; run the same command again to continue\n", stderr);
  }
  return {};
}

// Says how many conversations the complete output holds, and which command trains a draft with
// them.
Status SayComplete(const DistillArgs& args) {
  if (args.quiet || IsDevice(args.output)) return {};
  FT_ASSIGN_OR_RETURN(const MappedFile file, MappedFile::Open(args.output, FileUse::kOwnState));
  const auto answered = std::ranges::count(file.text(), '\n');  // DistilledLine
  std::string sentence = args.output + ": " + std::to_string(answered) + " answered conversation" +
                         (answered == 1 ? "" : "s");
  if (answered > 0) {
    sentence += "; to train a draft with them: foretoken train hass --target " + args.model.path +
                " --data " + args.output;
  }
  std::fprintf(stderr, "%s\n", Legible(sentence).c_str());
  return {};
}

Status AnswerAlone(const DistillArgs& args, std::span<const TextDocument> documents,
                   const Distilled& written, const Json& record, Distiller& distiller,
                   AppendedFile& output) {
  if (PartFolder::HasRun(args.output)) {
    return Error{args.output + ": was started with --share, and its answers are in " +
                 PartFolder::FolderOf(args.output) +
                 "; continue with --share, or remove that folder and its answers"};
  }
  FT_RETURN_IF_ERROR(CheckRecord(args.output, written.bytes > 0, record, args.changes));
  FT_RETURN_IF_ERROR(WriteRecord(args.output, record));
  FT_RETURN_IF_ERROR(output.Begin(written.bytes));
  WholeTask task(written.next, documents.size(), output);
  FT_RETURN_IF_ERROR(AnswerDocuments(args, documents, task, distiller));
  return InterruptGuard::Requested() ? Status() : SayComplete(args);
}

Status AnswerShare(const DistillArgs& args, std::span<const TextDocument> documents,
                   const Json& record, Distiller& distiller) {
  const ShareOptions options{.output = args.output,
                             .part_size = static_cast<size_t>(args.part_size),
                             .changes = args.changes,
                             .force = args.force,
                             .quiet = args.quiet};
  FT_ASSIGN_OR_RETURN(DistillShare task, DistillShare::Join(options, documents, record));
  FT_RETURN_IF_ERROR(AnswerDocuments(args, documents, task, distiller));
  if (InterruptGuard::Requested()) return {};
  FT_ASSIGN_OR_RETURN(const bool has_written, task.Leave());
  return has_written ? SayComplete(args) : Status();
}

// Makes the checks that need no model.
Status CheckSharedOutput(const std::string& output) {
  if (output == "-" || IsDevice(output)) {
    return Error{output + ": --share needs a regular file"};
  }
  return CheckWritable(output);
}

Status Distill(const DistillArgs& args) {
  FT_ASSIGN_OR_RETURN(const std::vector<TextDocument> documents, ReadAsked(args));
  Distilled written;
  AppendedFile output;
  if (args.share) {
    FT_RETURN_IF_ERROR(CheckSharedOutput(args.output));
  } else {
    if (!args.force) {
      FT_ASSIGN_OR_RETURN(written, ReadDistilled(args.output, documents));
    }
    FT_ASSIGN_OR_RETURN(output, AppendedFile::Open(args.output));
  }
  FT_ASSIGN_OR_RETURN(const LoadedModel loaded, Load(args.model));
  FT_ASSIGN_OR_RETURN(const ChatPrompter prompter,
                      ChatPrompter::Create(*loaded.tokenizer, args.model.path));
  FT_ASSIGN_OR_RETURN(const DistillOptions options, ResolveDistillOptions(args, loaded, prompter));
  FT_ASSIGN_OR_RETURN(const Decoder decoder,
                      NewDecoder(loaded, args.draft, options.session.capacity));
  WarnIfLossy(args.draft);
  FT_ASSIGN_OR_RETURN(const Json record, RecordOf(args, loaded, options));
  Distiller distiller(*decoder.generator, *loaded.tokenizer, prompter, options);
  if (args.share) return AnswerShare(args, documents, record, distiller);
  return AnswerAlone(args, documents, written, record, distiller, output);
}

}  // namespace

int Run_distill(int argc, char** argv) {
  CLI::App app{
      "Writes the model's own answers to the questions of conversations (JSONL), as training data "
      "for its drafts.",
      "foretoken distill"};
  app.footer(
      "Writes one line for each conversation, in order: {\"source\": its index, \"messages\": "
      "[...]}.\n"
      "After a stop, the same command continues after the last whole line. OUT.run.json records\n"
      "what the answers depend on, so that a change of model, -n or temperature is noticed.\n"
      "Questions without answers are read too: {\"turns\": [...]} as in Spec-Bench, "
      "{\"prompt\"}, {\"question\"}.\n"
      "Questions that were asked before, and answers that repeat themselves, are left out.\n"
      "Greedy unless --temp is given; sampled answers do not depend on --batch. A drafter makes "
      "it\n"
      "faster and does not change the answers. On a GPU, use foretoken train answers.\n"
      "With --share, several processes may run the same command at once, also on machines that\n"
      "share the folder of OUT: each answers parts of the data, and the last one writes OUT.\n"
      "\n"
      "  foretoken distill -m model.gguf --data chats.jsonl --out answered.jsonl --drafter pld\n"
      "  foretoken distill -m model.gguf --data chats.jsonl --out answered.jsonl --share\n"
      "  foretoken train hass --target model.gguf --data answered.jsonl --out runs/hass");
  DistillArgs args;
  AddModelArgs(app, &args.model);
  app.add_option("--data", args.data, "conversations: files, directories or globs; repeatable")
      ->required()
      ->type_name("FILES");
  app.add_option("-o,--out", args.output, "the file to write or continue")
      ->required()
      ->type_name("FILE");
  app.add_option("-n,--new-tokens", args.new_tokens, "maximum tokens of an answer (default 512)")
      ->check(CLI::Range(1, 1 << 20));
  app.add_option("-c,--context", args.context,
                 "longest conversation in tokens (default: the model's, at most 4096)")
      ->check(CLI::Range(1, 1 << 20));
  app.add_option("--batch", args.batch, "conversations answered at the same time (default 8)")
      ->check(CLI::Range(1, 256));
  app.add_option("--limit", args.limit, "maximum number of conversations (default: all)")
      ->check(CLI::Range(1, 1 << 30));
  CLI::Option* share =
      app.add_flag("--share", args.share, "divide the work between all processes with this --out");
  app.add_option("--part", args.part_size,
                 "conversations that a process takes at a time (default 64)")
      ->check(CLI::Range(1, 1 << 20))
      ->needs(share);
  app.add_flag("--force", args.force, "start over and replace the file");
  app.add_option("--change", args.changes,
                 "continue although these fields of OUT.run.json differ, as in "
                 "model,new_tokens")
      ->delimiter(',')
      ->type_name("FIELDS");
  app.add_flag("-q,--quiet", args.quiet, "no progress");
  AddCacheArgs(app, &args.cache_type);
  AddSamplingArgs(app, &args.sampling);
  AddDraftArgs(app, &args.draft);
  if (const auto status = ParseCommandLine(app, argc, argv)) return *status;
  if (args.model.path.empty()) return BadUsage(Error{"--model is missing"});
  if (const Status names = CheckDraftNames(args.draft); !names.ok()) return BadUsage(names.error());
  const Status status = Distill(args);
  return status.ok() ? kExitDone : Failed(status.error());
}

}  // namespace foretoken
