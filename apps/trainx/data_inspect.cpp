#include "commands.hpp"
#include "core/error.hpp"
#include "corpus/about_file.hpp"
#include "corpus/inspect.hpp"
#include "end_of_text_option.hpp"
#include "metrics/screen.hpp"
#include <CLI/CLI.hpp>
#include <unistd.h>
#include <filesystem>

namespace trainx::app {
namespace {

struct Arguments {
  std::string path, tokenizer, end_of_text;
  std::int64_t first = 0, shown = 3, tokens = 64, sequence_length = 0;
};

/// --tokenizer, else that which FILE.json says the file was made with.
std::unique_ptr<tokenizer::Tokenizer> find_tokenizer(const Arguments& a) {
  if (!a.tokenizer.empty()) return tokenizer::open_tokenizer(a.tokenizer);
  const std::string named = corpus::read_about(a.path).tokenizer;
  return std::filesystem::exists(named) ? tokenizer::open_tokenizer(named) : nullptr;
}

int run_inspect(const Arguments& a, const Context& context) {
  const auto tokenizer = find_tokenizer(a);
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
  print(context.output.json ? to_json(found, o).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) : describe(found, o, ::isatty(STDOUT_FILENO) == 1 ? screen.columns() : 120, color));
  if (!context.output.json && !tokenizer) say(context, "ids alone: --tokenizer FOLDER shows their text");
  return 0;
}

}  // namespace

void add_data_inspect(CLI::App& data, Context& context) {
  CLI::App* command = data.add_subcommand("inspect", "what is in a token file or in labelled lines: counts, documents, text, what the loss sees");
  context.usage[command] = "FILE [--tokenizer FOLDER|FILE] [options]";
  const auto a = std::make_shared<Arguments>();
  command->add_option("FILE", a->path, "a token file, or labelled lines (.jsonl)")->required();
  command->add_option("--tokenizer", a->tokenizer, "to show text; default: that which FILE.json names")->type_name("FOLDER|FILE");
  command->add_option("--first", a->first, "number of the first document or sample that is shown (0)")->type_name("N")->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 40).description(""));
  command->add_option("--show", a->shown, "how many of them (3)")->type_name("N")->check(CLI::Range(0, 1 << 20).description(""));
  command->add_option("--tokens", a->tokens, "of each at most so many tokens (64)")->type_name("N")->check(CLI::Range(1, 1 << 24).description(""));
  command->add_option("--sequence-length", a->sequence_length, "tokens of a row: how many rows there are, and how much of them is padding")->type_name("N")->check(CLI::Range(1, 1 << 24).description(""));
  command->add_option("--end-of-text", a->end_of_text, "token that ends a document; default: as FILE.json or the tokenizer says")->type_name("TOKEN");
  command->callback([a, &context] { context.run = [a, &context] { return run_inspect(*a, context); }; });
}

}  // namespace trainx::app
