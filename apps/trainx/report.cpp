#include "commands.hpp"
#include "core/files.hpp"
#include "html_report/page.hpp"
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <memory>

namespace trainx::app {
namespace {

struct ReportArguments {
  std::string run, out;
};

int run_report(const ReportArguments& a, const Context& context) {
  const html_report::RunRecord run = html_report::read_run(a.run);
  const std::string path = a.out.empty() ? a.run + "/report.html" : a.out;
  write_file_atomic(path, html_report::page(run));
  if (context.output.json)
    print(nlohmann::json{{"report", path}}.dump());
  else
    print("the report is in " + path + "; a browser opens it, no network is needed");
  return 0;
}

}  // namespace

void add_report(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand(
      "report", "Write one HTML page of a run: curves, memory, step time, recipe, checkpoints.");
  context.usage[command] = "RUN [--out FILE.html]";
  const auto a = std::make_shared<ReportArguments>();
  command->add_option("RUN", a->run, "Folder of a run, outputs/NAME.")->required();
  command->add_option("--out", a->out, "File to write (RUN/report.html).")->type_name("FILE");
  command->callback(
      [a, &context] { context.run = [a, &context] { return run_report(*a, context); }; });
}

}  // namespace trainx::app
