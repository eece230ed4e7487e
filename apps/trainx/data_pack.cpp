#include "commands.hpp"
#include "core/error.hpp"
#include "corpus/pack.hpp"
#include "end_of_text_option.hpp"
#include "corpus/about_tokenizer.hpp"
#include "named_tokenizer.hpp"
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <cstdio>

namespace trainx::app {
namespace {

struct DataPackArguments {
  std::string path, out, tokenizer, end_of_text;
  std::int64_t sequence_length = 0;
  bool overwrite = false;
};

std::string percent(double share) {
  char text[16];
  std::snprintf(text, sizeof text, "%.1f %%", 100 * share);
  return text;
}

int run_pack(const DataPackArguments& a, const Context& context) {
  corpus::PackOptions o;
  o.path = a.path;
  o.out = a.out;
  o.sequence_length = a.sequence_length;
  o.overwrite = a.overwrite;
  if (!a.tokenizer.empty() && corpus::is_labelled_lines(a.path))
    throw UserError(ExitCode::usage, "data pack: --tokenizer can have no effect on " + a.path +
                                         ", of which each line is a document: leave it out");
  const auto tokenizer = a.tokenizer.empty() ? nullptr : open_named_tokenizer(a.tokenizer, context);
  if (tokenizer) o.tokenizer = corpus::about_tokenizer(*tokenizer);
  o.end_of_text = named_end_of_text("data pack", a.path, a.end_of_text, tokenizer.get());
  if (!o.end_of_text) o.end_of_text = corpus::end_of_text_of(a.path, tokenizer.get());
  const corpus::PackReport r = corpus::pack(o);
  if (context.output.json) {
    print(nlohmann::ordered_json{{"event", "packed"},
                                 {"out", a.out},
                                 {"documents", r.documents},
                                 {"documents_cut", r.cut},
                                 {"tokens", r.tokens},
                                 {"rows", r.rows},
                                 {"most_documents_in_a_row", r.most_pieces},
                                 {"padding_share", r.padding_share},
                                 {"padding_share_unpacked", r.padding_share_unpacked}}
              .dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
    return 0;
  }
  say(context, "wrote " + a.out + ": " + std::to_string(r.documents) + " documents" +
                   (r.cut > 0 ? " (" + std::to_string(r.cut) + " longer than a row and cut)" : "") +
                   " in " + std::to_string(r.rows) + " rows of " +
                   std::to_string(a.sequence_length) + " tokens, " + percent(r.padding_share) +
                   " of them padding; one a row it would be " + percent(r.padding_share_unpacked));
  say(context, "train on it with data: {type: jsonl, packed: true, train: " + a.out +
                   ", sequence_length: " + std::to_string(a.sequence_length) + "}");
  return 0;
}

}  // namespace

void add_data_pack(CLI::App& data, Context& context) {
  CLI::App* command = data.add_subcommand("pack", "Pack documents into rows with little padding.");
  context.usage[command] = "FILE --sequence-length N --out FILE.jsonl [options]";
  const auto a = std::make_shared<DataPackArguments>();
  command
      ->add_option("FILE", a->path, "Token file, or labelled lines (.jsonl), one document a line.")
      ->required();
  command
      ->add_option("--sequence-length", a->sequence_length,
                   "Tokens of a row, as data.sequence_length.")
      ->type_name("N")
      ->required()
      ->check(CLI::Range(2, 1 << 24).description(""));
  command
      ->add_option("--out", a->out,
                   "File to write, one row a line, for data: {type: jsonl, packed: true}.")
      ->type_name("FILE")
      ->required();
  command->add_flag("--overwrite", a->overwrite, "Replace FILE if it is there already.");
  command
      ->add_option(
          "--tokenizer", a->tokenizer,
          "Tokenizer of the token file, if the file does not say which token ends a document.")
      ->type_name("FOLDER|FILE");
  command
      ->add_option("--end-of-text", a->end_of_text,
                   "Token that ends a document; default: as FILE.json or the tokenizer says.")
      ->type_name("TOKEN");
  command->callback(
      [a, &context] { context.run = [a, &context] { return run_pack(*a, context); }; });
}

}  // namespace trainx::app
