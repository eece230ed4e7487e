#include "context.hpp"
#include "core/error.hpp"
#include <cerrno>
#include <cstdio>
#include <cstring>

namespace trainx::app {

void print(const std::string& text) {
  const std::string line = text.empty() || text.back() != '\n' ? text + "\n" : text;
  if (std::fwrite(line.data(), 1, line.size(), stdout) != line.size() || std::fflush(stdout) != 0)
    throw UserError(ExitCode::io_error,
                    std::string("stdout cannot be written: ") + std::strerror(errno));
}

void say(const Context& context, const std::string& text) {
  if (!context.output.quiet) std::fprintf(stderr, "%s\n", text.c_str());
}

}  // namespace trainx::app
