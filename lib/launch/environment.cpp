#include "launch/environment.hpp"
#include "core/error.hpp"
#include "core/hash.hpp"
#include "core/number.hpp"
#include <vector>

namespace trainx::launch {
namespace {

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i)
    text += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + names[i];
  return text;
}

}  // namespace

int whole_number(const Environment& environment, const char* name, int most,
                 const std::string& launcher) {
  const std::string text = environment(name);
  const auto n = parse_integer(text);
  if (!n || *n < 0 || *n > most)
    throw UserError(ExitCode::usage, std::string(name) + " is '" + text +
                                         "', not a whole number from 0 to " + std::to_string(most) +
                                         "; " + launcher +
                                         " sets it: unset it where trainx is started otherwise");
  return static_cast<int>(*n);
}

bool all_set(const Environment& environment, std::span<const char* const> names,
             const std::string& launcher) {
  std::vector<std::string> set, missing;
  for (const char* name : names) (environment(name).empty() ? missing : set).emplace_back(name);
  if (set.empty()) return false;
  if (missing.empty()) return true;
  throw UserError(ExitCode::usage, listed(set) + (set.size() > 1 ? " are" : " is") + " set and " +
                                       listed(missing) + (missing.size() > 1 ? " are" : " is") +
                                       " not; " + launcher +
                                       " sets all of them: start trainx with it, or unset " +
                                       (set.size() > 1 ? "those" : "that one") +
                                       " and let trainx start its workers (--nproc-per-node)");
}

int port_of(const Environment& environment, const char* name) {
  const std::string text = environment(name);
  const auto n = parse_integer(text);
  if (!n || *n < 1 || *n > 65535)
    throw UserError(ExitCode::usage, std::string(name) + " is '" + text +
                                         "', not a port (1 to 65535); set it to one that is free "
                                         "on the host of rank 0, on all hosts alike");
  return static_cast<int>(*n);
}

int derived_port(const std::string& text) {
  return first_derived_port +
         static_cast<int>(std::stoul(hash_hex(text).substr(0, 8), nullptr, 16) % derived_ports);
}

void check_ranks(const comm::Membership& m, const std::string& names) {
  const auto refuse = [&](const std::string& what) {
    throw UserError(ExitCode::usage,
                    names + " say " + what + "; let one launcher set all of them, or unset them");
  };
  if (m.world_size < 1 || m.rank >= m.world_size)
    refuse("rank " + std::to_string(m.rank) + " of " + std::to_string(m.world_size));
  if (m.local_world_size < 1 || m.local_rank >= m.local_world_size)
    refuse("rank " + std::to_string(m.local_rank) + " of " + std::to_string(m.local_world_size) +
           " on this host");
  if (m.local_world_size > m.world_size)
    refuse(std::to_string(m.local_world_size) + " ranks on this host of " +
           std::to_string(m.world_size) + " in all");
}

}  // namespace trainx::launch
