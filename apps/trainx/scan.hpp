#pragma once
#include "context.hpp"
#include <CLI/CLI.hpp>

namespace trainx::app {

/// A flag that may stand anywhere.
struct GlobalFlag {
  std::string short_name, name, takes, about;  // "-q", "--quiet"; takes: empty, or what
};
const std::vector<GlobalFlag>& global_flags();

struct Scan {
  const CLI::App* command = nullptr;  // innermost one named
  bool help = false, version = false;
  std::vector<std::string> rest;  // without the global flags
};

/// Looks through the arguments before CLI11 does, which reports a missing argument before an
/// unknown one, knows no flags that stand anywhere, and suggests nothing. Sets the global flags in
/// `context`. Throws UserError 2 for a command or a flag that there is not.
Scan scan_arguments(const CLI::App& app, const std::vector<std::string>& arguments,
                    Context& context);

}  // namespace trainx::app
