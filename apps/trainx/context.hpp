// What every command knows: the flags that may stand anywhere, and what parsing decided to do.
#pragma once
#include "launch/job.hpp"
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace trainx::app {

struct Context {
  launch::OutputOptions output;
  std::string worker;             // --worker or TRAINX_WORKER; empty: the one beside trainx
  bool asks_worker = true;        // a named worker for its models, before the command runs
  std::vector<std::string> argv;  // as the user typed
  std::function<int()> run;       // the chosen command; returns the exit code
  // what follows a command's name: "CONFIG [key=value ...]"
  std::map<const CLI::App*, std::string> usage;
};

/// Data goes to stdout, whole lines at a time.
void print(const std::string& text);
/// Messages go to stderr, not under -q.
void say(const Context& context, const std::string& text);

}  // namespace trainx::app
