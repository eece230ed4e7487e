#include "launch_options.hpp"
#include "core/error.hpp"
#include "core/number.hpp"

namespace trainx::app {
namespace {

[[noreturn]] void refuse(const std::string& command, const std::string& flag,
                         const std::string& wanted, const std::string& text) {
  throw UserError(ExitCode::usage, command + ": " + flag + " takes " + wanted + ", not '" + text +
                                       "'; see trainx " + command + " --help");
}

void add_number(CLI::App& command, const std::string& flag, std::optional<int>& value,
                std::int64_t least, std::int64_t most, const std::string& help) {
  const auto read = [name = command.get_name(), flag, &value, least,
                     most](const std::string& text) {
    const auto n = parse_integer(text);
    if (!n || *n < least || *n > most)
      refuse(name, flag,
             "a whole number from " + std::to_string(least) + " to " + std::to_string(most), text);
    value = static_cast<int>(*n);
  };
  command.add_option_function<std::string>(flag, read, help)->type_name("N");
}

}  // namespace

void add_launch_options(CLI::App& command, launch::LaunchFlags& flags) {
  const std::string name = command.get_name();
  const auto workers = [name, &flags](const std::string& text) {
    const auto n = text == "auto" ? launch::LaunchFlags::automatic : parse_integer(text);
    if (!n || (text != "auto" && *n < 1) || *n > launch::LaunchFlags::most_workers)
      refuse(name, "--nproc-per-node",
             "a whole number from 1 to " + std::to_string(launch::LaunchFlags::most_workers) +
                 " or auto",
             text);
    flags.nproc_per_node = static_cast<int>(*n);
  };
  command
      .add_option_function<std::string>(
          "--nproc-per-node,--nproc", workers,
          "Workers on this host, one rank each. auto: one per visible GPU, one on a CPU.")
      ->type_name("N|auto");
  add_number(command, "--nnodes", flags.nnodes, 1, launch::LaunchFlags::most_hosts,
             "Hosts of the run. Start trainx once on each, with the same flags except "
             "--node-rank.");
  add_number(command, "--node-rank", flags.node_rank, 0, launch::LaunchFlags::most_hosts - 1,
             "Index of this host, from 0.");
  command
      .add_option_function<std::string>(
          "--master-addr",
          [name, &flags](const std::string& text) {
            if (text.empty()) refuse(name, "--master-addr", "the name or address of host 0", text);
            flags.master_addr = text;
          },
          "Name or address of host 0, as the others reach it.")
      ->type_name("HOST");
  add_number(command, "--master-port", flags.master_port, 1, 65535,
             "Port on which rank 0 listens (29500).");
  command
      .add_option_function<std::string>(
          "--secret-file", [&flags](const std::string& path) { flags.secret_file = path; },
          "File of 32 random bytes or more, the same on all hosts, by which ranks of several "
          "launchers know each other (TRAINX_SECRET_FILE; else one beside the run's folder).")
      ->type_name("FILE");
}

void add_restart_option(CLI::App& command, launch::LaunchFlags& flags) {
  add_number(
      command, "--max-restarts", flags.max_restarts, 0, launch::LaunchFlags::most_restarts,
      "Restart all workers after a device, a file, a peer or a worker was lost, at most N times.");
}

}  // namespace trainx::app
