// Log lines of a process: to the screen, to a file, and into a ring that a crash leaves behind.
// Safe to call from several threads.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trainx::log {

enum class Level : std::uint8_t { debug, info, warning, error };

/// "debug", "info", "warning", "error".
std::string_view name_of(Level level);
std::optional<Level> level_named(std::string_view name);
/// TRAINX_LOG; nothing if it is not set. Throws UserError 2 for an unknown level.
std::optional<Level> level_from_environment();

/// To every screen, the file and the ring. A text of several lines becomes several lines of the
/// file.
void write(Level level, std::string_view text);
inline void debug(std::string_view text) { write(Level::debug, text); }
inline void info(std::string_view text) { write(Level::info, text); }
inline void warning(std::string_view text) { write(Level::warning, text); }
inline void error(std::string_view text) { write(Level::error, text); }
/// To the file and the ring only: the caller shows the text itself.
void record(Level level, std::string_view text);

/// Both stand in each line of the file from here on.
void set_rank(int rank);
void set_step(std::int64_t step);

/// A line before it is formatted, for a process that goes on with another's log.
struct Line {
  Level level = Level::debug;
  std::string text;
};
/// The lines that wait for a file, at most the last 1,000.
std::vector<Line> kept_lines();

/// Appends lines of at least `least` to `path`, first those that were kept; makes no folder. A file
/// that cannot be opened or written is no error: false, and lines go to the ring alone.
bool open_file(const std::string& path, Level least);
void close_file();

/// Shows lines of at least `least` for its lifetime, unless another one was made since. `show` must
/// not log.
class Screen {
 public:
  using Show = std::function<void(Level, std::string_view)>;
  Screen(Level least, Show show);
  ~Screen();
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;
};

}  // namespace trainx::log
