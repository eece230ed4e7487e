#include "commands.hpp"
#include "core/error.hpp"
#include "corpus/inspect.hpp"
#include "data/files/about_file.hpp"
#include "end_of_text_option.hpp"
#include "metrics/screen.hpp"
#include "named_tokenizer.hpp"
#include <CLI/CLI.hpp>
#include <unistd.h>
#include <filesystem>

namespace trainx::app {
namespace {

struct DataInspectArguments {
  std::string path, tokenizer, end_of_text;
  std::int64_t first = 0, shown = 3, tokens = 64, sequence_length = 0;
};

/// --tokenizer, else that which FILE.json says the file was made with.
std::unique_ptr<tokenizer::Tokenizer> find_tokenizer(const DataInspectArguments& a,
                                                     const Context& context) {
  if (!a.tokenizer.empty()) return open_named_tokenizer(a.tokenizer, context);
  const std::string named = data::read_about(a.path).tokenizer;
  return std::filesystem::exists(named) ? tokenizer::open_tokenizer(named) : nullptr;
}

int run_inspect(const DataInspectArguments& a, const Context& context) {
  const auto tokenizer = find_tokenizer(a, context);
  corpus::InspectOptions o;
  o.path = a.path;
  o.tokenizer = tokenizer.get();
  o.first = a.first;
  o.shown = a.shown;
  o.most_tokens = a.tokens;
  o.sequence_length = a.sequence_length;
  o.end_of_text = named_end_of_text("data inspect", a.path, a.end_of_text, tokenizer.get());
  const corpus::Inspection found = corpus::inspect(o);
  const auto screen = metrics::process_screen();
  const bool color = context.output.color && ::isatty(STDOUT_FILENO) == 1;
  print(context.output.json
            ? to_json(found, o).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)
            : describe(found, o, ::isatty(STDOUT_FILENO) == 1 ? screen.columns() : 120, color));
  if (!context.output.json && !tokenizer)
    say(context, "ids alone: --tokenizer FOLDER shows their text");
  return 0;
}

}  // namespace

void add_data_inspect(CLI::App& data, Context& context) {
  CLI::App* command = data.add_subcommand("inspect",
                                          "Print what is in a token file or labelled lines: "
                                          "counts, documents, text, targets of the loss.");
  context.usage[command] = "FILE [--tokenizer FOLDER|FILE] [options]";
  const auto a = std::make_shared<DataInspectArguments>();
  command->add_option("FILE", a->path, "Token file, or labelled lines (.jsonl).")->required();
  command
      ->add_option("--tokenizer", a->tokenizer,
                   "Tokenizer to show text; default: the one named in FILE.json.")
      ->type_name("FOLDER|FILE");
  command->add_option("--first", a->first, "First document or sample to show (0).")
      ->type_name("N")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 40).description(""));
  command->add_option("--show", a->shown, "Documents or samples to show (3).")
      ->type_name("N")
      ->check(CLI::Range(0, 1 << 20).description(""));
  command->add_option("--tokens", a->tokens, "Tokens to show of each, at most (64).")
      ->type_name("N")
      ->check(CLI::Range(1, 1 << 24).description(""));
  command
      ->add_option("--sequence-length", a->sequence_length,
                   "Tokens of a row: count rows and padding.")
      ->type_name("N")
      ->check(CLI::Range(1, 1 << 24).description(""));
  command
      ->add_option("--end-of-text", a->end_of_text,
                   "Token that ends a document; default: as FILE.json or the tokenizer says.")
      ->type_name("TOKEN");
  command->callback(
      [a, &context] { context.run = [a, &context] { return run_inspect(*a, context); }; });
}

}  // namespace trainx::app
