#include "commands.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "corpus/filter.hpp"
#include "corpus/tokenize_job.hpp"
#include "corpus/train_vocabulary.hpp"
#include "data/files/dataset_folder.hpp"
#include "metrics/screen.hpp"
#include "named_tokenizer.hpp"
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <unistd.h>
#include <algorithm>
#include <filesystem>
#include <thread>

namespace trainx::app {
namespace {

struct DataTokenizeArguments {
  std::vector<std::string> inputs;
  std::string tokenizer, format, split, out, kind, end_of_text, chat_template, label_names;
  corpus::FieldNames names;
  std::int64_t train_vocab = 0;
  bool decode = false, plain = false, overwrite = false;
  int threads = 0;
};

/// The share that is done, rewritten in place on a terminal, else told now and then.
class Progress {
 public:
  Progress(const Context& context, std::string what)
      : context_(context),
        what_(std::move(what)),
        started_s_(screen_.seconds()),
        told_s_(started_s_) {}
  ~Progress() {
    if (shown_) screen_.err("\n");
  }
  void tell(std::int64_t done, std::int64_t of, std::int64_t tokens) {
    const double now = screen_.seconds(), seconds = now - started_s_;
    if (context_.output.quiet || context_.output.json || now - told_s_ < (screen_.live ? 0.1 : 10))
      return;
    told_s_ = now;
    const double share = of > 0 ? static_cast<double>(done) / static_cast<double>(of) : 1;
    std::string line = what_ + " " + std::to_string(static_cast<int>(100 * share)) + " % | " +
                       human_count(static_cast<double>(tokens)) + " tokens | " +
                       human_bytes(static_cast<std::int64_t>(static_cast<double>(done) /
                                                             std::max(seconds, 1e-3))) +
                       "/s | " + human_seconds(seconds * (1 - share) / std::max(share, 1e-6)) +
                       " left";
    if (!screen_.live) return screen_.err(line + "\n");
    line.resize(std::min<std::size_t>(
        line.size(), static_cast<std::size_t>(std::max(screen_.columns() - 1, 1))));
    screen_.err("\r\x1b[K" + line);
    shown_ = true;
  }

 private:
  const Context& context_;
  metrics::Screen screen_ = metrics::process_screen();
  std::string what_;
  double started_s_, told_s_;
  bool shown_ = false;
};

int threads_of(const DataTokenizeArguments& a) {
  return a.threads > 0 ? a.threads
                       : static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
}

[[noreturn]] void usage(const std::string& what) {
  throw UserError(ExitCode::usage, "data tokenize: " + what);
}

corpus::InputChoice choice_of(const DataTokenizeArguments& a) {
  return {a.format, a.split.empty() ? "" : data::split_named(a.split)};
}

/// --train-vocab makes the folder that --tokenizer names.
void train(const DataTokenizeArguments& a, const Context& context) {
  namespace fs = std::filesystem;
  if (fs::exists(a.tokenizer))
    throw UserError(
        ExitCode::cannot_create,
        a.tokenizer +
            " is there already: --train-vocab makes a new folder, which --tokenizer names");
  corpus::VocabularyOptions o;
  o.inputs = a.inputs;
  o.choice = choice_of(a);
  o.names = a.names;
  o.vocab_size = a.train_vocab;
  o.threads = threads_of(a);
  if (a.kind == "wordpiece")
    o.kind = tokenizer::LearnedKind::wordpiece;
  else if (!a.kind.empty() && a.kind != "bpe")
    usage("--kind is bpe or wordpiece, not '" + a.kind + "'");
  tokenizer::check_learned_size(o.kind, a.train_vocab);
  o.begins = [&] { say(context, "learning " + std::to_string(a.train_vocab) + " tokens"); };
  const std::string text = corpus::train_vocabulary(o);
  make_folders(a.tokenizer);
  write_file_atomic(a.tokenizer + "/tokenizer.json", text);
  const bool bpe = o.kind == tokenizer::LearnedKind::bpe;
  const nlohmann::ordered_json settings =
      bpe ? nlohmann::ordered_json{{"tokenizer_class", "GPT2TokenizerFast"},
                                   {"eos_token", "<|endoftext|>"}}
          : nlohmann::ordered_json{{"tokenizer_class", "BertTokenizerFast"},
                                   {"do_lower_case", true}};
  write_file_atomic(a.tokenizer + "/tokenizer_config.json", settings.dump(2) + "\n");
  say(context, "wrote " + a.tokenizer + "/tokenizer.json");
}

int run_filter(const DataTokenizeArguments& a, const tokenizer::Tokenizer& tokenizer) {
  const corpus::ChatTemplate chat(corpus::find_template(tokenizer.path(), a.chat_template));
  corpus::FilterOptions o;
  o.output.names = a.names;
  o.output.samples = true;
  o.output.special = !a.plain;
  o.output.end_of_text = a.plain ? -1 : tokenizer.end_of_text();
  o.output.chat = &chat;
  const corpus::LabelNames labels = a.label_names.empty() ? corpus::LabelNames()
                                                          : corpus::named_labels(a.label_names);
  o.output.labels = &labels;
  o.decode = a.decode;
  o.threads = threads_of(a);
  corpus::filter_lines(tokenizer, o, STDIN_FILENO, "stdin", [](const std::string& lines) {
    if (!lines.empty()) print(lines);
  });
  return 0;
}

std::int32_t end_of_text(const DataTokenizeArguments& a, const tokenizer::Tokenizer& tokenizer) {
  if (a.end_of_text == "none") return -1;
  if (a.end_of_text.empty()) return tokenizer.end_of_text();
  const std::int32_t id = tokenizer.id_of(a.end_of_text);
  if (id < 0) usage("--end-of-text '" + a.end_of_text + "' is no token of " + tokenizer.path());
  return id;
}

int run_job(const DataTokenizeArguments& a, const tokenizer::Tokenizer& tokenizer,
            const Context& context) {
  corpus::JobOptions o;
  o.inputs = a.inputs;
  o.choice = choice_of(a);
  o.overwrite = a.overwrite;
  if (!a.label_names.empty()) o.labels = corpus::named_labels(a.label_names);
  o.out = a.out;
  o.threads = threads_of(a);
  o.output.names = a.names;
  o.output.special = !a.plain;
  const bool stream = a.out.ends_with(".bin");
  if (stream && !a.label_names.empty())
    usage("--label-names goes with labelled lines, into a file whose name ends with .jsonl");
  if (!stream && !a.end_of_text.empty())
    usage("--end-of-text goes into a token file, whose name ends with .bin");
  if (stream && !a.chat_template.empty())
    usage("--chat-template is for samples with labels, into a file whose name ends with .jsonl");
  if (stream || !a.plain) o.output.end_of_text = end_of_text(a, tokenizer);
  const corpus::ChatTemplate chat(corpus::find_template(tokenizer.path(), a.chat_template));
  o.output.chat = &chat;
  corpus::JobReport report;
  {
    Progress progress(context, "tokenizing");
    report = corpus::run_tokenize_job(tokenizer, o, [&](const corpus::JobProgress& p) {
      progress.tell(p.bytes_done, p.bytes, p.tokens);
    });
  }
  if (context.output.json) {
    print(nlohmann::ordered_json{{"event", "tokenized"},
                                 {"out", a.out},
                                 {"tokens", report.tokens},
                                 {"documents", report.documents},
                                 {"bytes", report.bytes},
                                 {"vocab_size", tokenizer.vocab_size()},
                                 {"parts", report.parts},
                                 {"parts_before", report.parts_before},
                                 {"samples_without_target", report.without_target},
                                 {"label_names", report.label_names},
                                 {"notes", report.notes}}
              .dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
    return 0;
  }
  for (const std::string& note : report.notes) say(context, note);
  if (!report.label_names.empty()) {
    std::string names;
    for (std::size_t i = 0; i < std::min<std::size_t>(report.label_names.size(), 12); ++i)
      names += (i > 0 ? ", " : "") + std::to_string(i) + " " + report.label_names[i];
    say(context, "classes: " + names + (report.label_names.size() > 12 ? ", ..." : "") +
                     "; another file takes the same with --label-names " + a.out);
  }
  if (report.without_target > 0)
    say(context, "warning: " + std::to_string(report.without_target) + " of " +
                     std::to_string(report.documents) +
                     " samples have no target: nothing is learned of them");
  if (report.parts_before > 0)
    say(context, std::to_string(report.parts_before) + " of " + std::to_string(report.parts) +
                     " parts were done before");
  say(context, "wrote " + a.out + ": " + std::to_string(report.tokens) + " tokens of " +
                   std::to_string(report.documents) + (stream ? " documents, " : " samples, ") +
                   human_bytes(report.bytes) + " of text; model.options.vocab_size is at least " +
                   std::to_string(tokenizer.vocab_size()));
  return 0;
}

int run_tokenize(const DataTokenizeArguments& a, const Context& context) {
  const bool filter = a.inputs.size() == 1 && a.inputs[0] == "-";
  if (std::ranges::count(a.inputs, "-") > 0 && !filter)
    usage("- (lines from stdin) goes with no other input");
  if (filter && !a.format.empty() && a.format != "jsonl") usage("lines from stdin are jsonl");
  if (filter && !a.out.empty()) usage("lines from stdin go to stdout: leave --out out");
  if (filter && a.train_vocab > 0) usage("--train-vocab reads the text twice: name files");
  if (filter && !a.end_of_text.empty()) usage("--end-of-text goes into a token file");
  if (a.decode && !filter) usage("--decode is for lines from stdin: give - as the input");
  if (!filter && a.out.empty() && a.train_vocab == 0)
    usage("where to? --out FILE.bin (a token file) or FILE.jsonl (labelled lines)");
  if (!a.kind.empty() && a.train_vocab == 0) usage("--kind goes with --train-vocab N");
  if (filter && (a.overwrite || !a.split.empty()))
    usage("lines from stdin are no folder or file: leave --split and --overwrite out");
  const auto is_folder = [](const std::string& path) {
    std::error_code error;
    return std::filesystem::is_directory(path, error);
  };
  if (!a.split.empty() && std::ranges::none_of(a.inputs, is_folder))
    usage("--split chooses among the files of a folder: give one as the input");
  if (a.overwrite && a.out.empty()) usage("--overwrite goes with --out");
  if (a.decode && !a.chat_template.empty()) usage("--chat-template is for lines with messages");
  if (!a.out.empty()) corpus::check_out(a.out, a.overwrite);
  if (a.train_vocab > 0) train(a, context);
  if (a.train_vocab > 0 && a.out.empty()) return 0;
  const auto tokenizer = open_named_tokenizer(a.tokenizer, context);
  return filter ? run_filter(a, *tokenizer) : run_job(a, *tokenizer, context);
}

}  // namespace

void add_data_tokenize(CLI::App& data, Context& context) {
  CLI::App* command = data.add_subcommand(
      "tokenize",
      "Turn text, JSON, csv, tsv, Parquet or Arrow into token files or labelled lines.");
  context.usage[command] = "INPUT [INPUT ...] --tokenizer FOLDER|FILE --out FILE [options]";
  const auto a = std::make_shared<DataTokenizeArguments>();
  command
      ->add_option("INPUT", a->inputs,
                   "Files or folders; - reads lines from stdin and writes tokens to stdout.")
      ->required();
  command
      ->add_option(
          "--tokenizer", a->tokenizer,
          "Folder with a tokenizer, its file, or an id in the local Hugging Face cache (gpt2).")
      ->type_name("FOLDER|FILE")
      ->required();
  command
      ->add_option("--out", a->out,
                   "FILE.bin: a token file. FILE.jsonl: labelled lines, one sample a line.")
      ->type_name("FILE");
  command->add_flag("--overwrite", a->overwrite, "Replace FILE if it is there already.");
  command
      ->add_option("--split", a->split,
                   "Which files of a folder with several splits; default: train.")
      ->type_name("train|validation|test");
  command
      ->add_option("--format", a->format,
                   "Format of the inputs; default: by each file's ending, else text; json and "
                   "jsonl by contents.")
      ->type_name("text|jsonl|json|csv|tsv|parquet|arrow");
  command->add_option("--text", a->names.text, "Field or column of the text (text).")
      ->type_name("NAME");
  command->add_option("--pair", a->names.pair, "Field or column of a second text (text_pair).")
      ->type_name("NAME");
  command
      ->add_option("--target", a->names.target,
                   "Field or column of the text to write where the text is read (target).")
      ->type_name("NAME");
  command
      ->add_option("--label", a->names.label,
                   "Field or column of the class, or of the numbers to predict (label).")
      ->type_name("NAME");
  command
      ->add_option("--label-names", a->label_names,
                   "Names of the classes in their order, A,B,C, or FILE.jsonl whose classes these "
                   "are; default: the labels' names, sorted.")
      ->type_name("NAMES|FILE");
  command->add_option("--words", a->names.words, "Field of a list of words that have tags (words).")
      ->type_name("NAME");
  command->add_option("--tags", a->names.tags, "Field of the words' classes, whole numbers (tags).")
      ->type_name("NAME");
  command
      ->add_option("--prompt", a->names.prompt,
                   "Field or column of what a completion follows (prompt).")
      ->type_name("NAME");
  command
      ->add_option("--completion", a->names.completion,
                   "Field or column of the text to learn behind a prompt (completion).")
      ->type_name("NAME");
  command
      ->add_option("--messages", a->names.messages,
                   "Field of the turns of a conversation (messages).")
      ->type_name("NAME");
  command
      ->add_option(
          "--chat-template", a->chat_template,
          "Jinja file, or name of one of the tokenizer's templates, that writes conversations; "
          "default: the tokenizer's own.")
      ->type_name("FILE|NAME");
  command
      ->add_option(
          "--train-vocab", a->train_vocab,
          "Learn a vocabulary of N tokens from the inputs first, into the folder --tokenizer.")
      ->type_name("N")
      ->check(CLI::Range(1, 1 << 24).description(""));
  command
      ->add_option("--kind", a->kind,
                   "Vocabulary to learn: bpe as GPT-2's (default), or wordpiece as BERT's.")
      ->type_name("bpe|wordpiece");
  command
      ->add_option("--end-of-text", a->end_of_text,
                   "Token after each document of a token file, or none; default: the tokenizer's.")
      ->type_name("TOKEN");
  command->add_flag(
      "--plain", a->plain,
      "Leave out the tokens that the tokenizer puts around a text; with --decode: special tokens.");
  command->add_flag(
      "--decode", a->decode,
      "Decode: lines {\"input_ids\": [...]} from stdin to lines {\"text\": \"...\"}.");
  command->add_option("--threads", a->threads, "Threads; default: one a core.")
      ->type_name("N")
      ->check(CLI::Range(1, 1024).description(""));
  command->callback(
      [a, &context] { context.run = [a, &context] { return run_tokenize(*a, context); }; });
}

}  // namespace trainx::app
