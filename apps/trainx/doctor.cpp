#include "build_info.hpp"
#include "commands.hpp"
#include "core/error.hpp"
#include "doctor/report.hpp"
#include "doctor_hosts.hpp"
#include "launch_options.hpp"
#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>

namespace trainx::app {
namespace {

struct DoctorArguments {
  launch::LaunchFlags launch;
  bool hosts = false;
};

int run_doctor(const Context& context) {
  const auto& info = build_info();
  const doctor::BuildFacts build{info.at("build_type"), info.at("compiler"), info.at("cuda")};
  std::error_code gone;
  const std::string here = std::filesystem::current_path(gone).string();
  const doctor::MachineReport report = doctor::examine_machine(
      launch::worker_path(), build, doctor::output_folder(gone ? "." : here));
  print(context.output.json
            ? doctor::to_json(report).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)
            : doctor::describe(report));
  const bool works = std::ranges::none_of(doctor::findings_of(report), [](const facts::Finding& f) {
    return f.weight == facts::Finding::Weight::error;
  });
  return static_cast<int>(works ? ExitCode::ok : ExitCode::unavailable);
}

}  // namespace

void add_doctor(CLI::App& app, Context& context) {
  CLI::App* command =
      app.add_subcommand("doctor", "Check this machine and measure what training needs.");
  context.usage[command] = "[--hosts]";
  const auto a = std::make_shared<DoctorArguments>();
  command->add_flag("--hosts", a->hosts,
                    "Measure the network between hosts instead, with ranks that are started as "
                    "those of a run. Plans of runs on these hosts go by it.");
  add_launch_options(*command, a->launch);
  command->callback([a, &context] {
    context.asks_worker = false;  // a worker that does not answer is a finding
    context.run = [a, &context] {
      if (a->hosts) return doctor_hosts(a->launch, context);
      if (a->launch.ask_for_workers() || a->launch.secret_file)
        throw UserError(ExitCode::usage,
                        "doctor: flags of several hosts have no effect on one; add --hosts to "
                        "measure the network between them, or leave the flags out");
      return run_doctor(context);
    };
  });
}

}  // namespace trainx::app
