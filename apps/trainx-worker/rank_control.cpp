#include "rank_control.hpp"
#include "core/files.hpp"
#include "core/hash.hpp"
#include "core/process.hpp"
#include "core/version.hpp"
#include "log/log.hpp"
#include "metrics/screen.hpp"
#include <chrono>
#include <cstdlib>
#include <system_error>
#include <thread>

namespace trainx::worker {
namespace {

// Whoever computes finds out at the next collective, and ends as programs do. What takes longer
// than this does not hold up the other ranks.
constexpr std::chrono::seconds grace{3};

void end_soon(ExitCode code, const std::string& sentence) {
  log::record(log::Level::error, sentence);
  const auto end = [code, sentence] {
    std::this_thread::sleep_for(grace);
    const metrics::Screen screen = metrics::process_screen();
    screen.err("trainx: " + sentence + "\n");
    screen.finish();
    std::_Exit(static_cast<int>(code));
  };
  try {
    std::thread(end).detach();
  } catch (const std::system_error&) { end(); }
}

std::string build_of_this() {
  return std::string(version) + " " + hash_hex(read_file(executable_path()));
}

}  // namespace

std::unique_ptr<comm::Control> meet_ranks(const comm::Membership& membership,
                                          const std::string& plan, comm::ControlOptions options) {
  options.equal_on_all = {{"trainx", build_of_this()}, {"plan", plan}};
  options.on_failure = end_soon;
  auto control = comm::Control::join(membership, std::move(options));
  log::debug("all " + std::to_string(membership.world_size) + " ranks have joined");
  return control;
}

}  // namespace trainx::worker
