// The only file that includes spdlog. Header-only, with a header-only fmt: a binary that is carried
// to another machine needs no library of either.
#define FMT_HEADER_ONLY
#define SPDLOG_HEADER_ONLY
#define SPDLOG_PREVENT_CHILD_FD  // a process that the worker starts does not inherit the file
#include "log/log.hpp"
#include "core/error.hpp"
#include "core/process.hpp"
#include "core/suggest.hpp"
#include "log/crash_ring.hpp"
#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <algorithm>
#include <atomic>
#include <deque>
#include <filesystem>
#include <memory>
#include <mutex>

namespace trainx::log {
namespace {

constexpr std::string_view names[] = {"debug", "info", "warning", "error"};

spdlog::level::level_enum spdlog_level(Level level) {
  switch (level) {
    case Level::debug: return spdlog::level::debug;
    case Level::info: return spdlog::level::info;
    case Level::warning: return spdlog::level::warn;
    case Level::error: break;
  }
  return spdlog::level::err;
}
Level level_of(const spdlog::details::log_msg& message) {
  if (message.level <= spdlog::level::debug) return Level::debug;
  if (message.level == spdlog::level::info) return Level::info;
  return message.level == spdlog::level::warn ? Level::warning : Level::error;
}
std::string_view text_of(const spdlog::details::log_msg& message) {
  return {message.payload.data(), message.payload.size()};
}

std::atomic<int> current_rank{0};
std::atomic<std::int64_t> current_step{0};

/// "rank 0 step 12"
class Place final : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg&, const std::tm&, spdlog::memory_buf_t& out) override {
    const std::string text = "rank " + std::to_string(current_rank) + " step " +
                             std::to_string(current_step);
    out.append(text.data(), text.data() + text.size());
  }
  std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<Place>();
  }
};

/// "2026-01-31T09:30:00.125Z info    rank 0 step 12: text", once for each line of the text.
class Lines final : public spdlog::formatter {
 public:
  Lines() : one_(spdlog::pattern_time_type::utc) {
    one_.add_flag<Place>('*').set_pattern("%Y-%m-%dT%H:%M:%S.%eZ %-7l %*: %v");
  }
  void format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& out) override {
    const std::string_view text = text_of(message);
    for (std::size_t begin = 0;;) {
      const std::size_t end = std::min(text.find('\n', begin), text.size());
      spdlog::details::log_msg line = message;
      line.payload = spdlog::string_view_t(text.data() + begin, end - begin);
      one_.format(line, out);
      begin = end + 1;
      if (begin >= text.size()) return;
    }
  }
  std::unique_ptr<formatter> clone() const override { return std::make_unique<Lines>(); }

 private:
  spdlog::pattern_formatter one_;
};

/// The last screen that was made gets the lines.
class ScreenSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  struct Attached {
    const Screen* screen;
    Level least;
    Screen::Show show;
  };
  void attach(Attached one) {
    const std::lock_guard lock(mutex_);
    attached_.push_back(std::move(one));
  }
  void detach(const Screen* screen) {
    const std::lock_guard lock(mutex_);
    std::erase_if(attached_, [&](const Attached& a) { return a.screen == screen; });
  }

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    if (attached_.empty() || level_of(message) < attached_.back().least) return;
    attached_.back().show(level_of(message), text_of(message));
  }
  void flush_() override {}
  std::vector<Attached> attached_;
};

/// The crash ring; and what is kept until there is a file.
class RingSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  struct Kept {
    Line line;
    std::string formatted;
  };
  RingSink() { set_formatter_(std::make_unique<Lines>()); }
  std::vector<Kept> kept() {
    const std::lock_guard lock(mutex_);
    return {kept_.begin(), kept_.end()};
  }
  /// From here on the file has them.
  void keep_no_more() {
    const std::lock_guard lock(mutex_);
    keeps_ = false;
    kept_.clear();
  }

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t formatted;
    formatter_->format(message, formatted);
    const std::string_view lines(formatted.data(), formatted.size());
    for (std::size_t begin = 0; begin < lines.size();) {
      const std::size_t end = std::min(lines.find('\n', begin), lines.size() - 1) + 1;
      keep_in_ring(lines.substr(begin, end - begin));
      begin = end;
    }
    if (!keeps_) return;
    kept_.push_back({{level_of(message), std::string(text_of(message))}, std::string(lines)});
    if (kept_.size() > ring_lines) kept_.pop_front();
  }
  void flush_() override {}
  std::deque<Kept> kept_;
  bool keeps_ = true;
};

/// A run's log file, once it is open.
class FileSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  FileSink() { set_formatter_(std::make_unique<Lines>()); }
  bool open(const std::string& path, Level least, const std::vector<RingSink::Kept>& before) {
    const std::lock_guard lock(mutex_);
    try {
      file_.emplace();
      file_->open(path);
      for (const auto& kept : before)
        if (kept.line.level >= least) put({kept.formatted.data(), kept.formatted.size()});
    } catch (const spdlog::spdlog_ex&) { file_.reset(); }
    least_ = least;
    return file_.has_value();
  }
  void close() {
    const std::lock_guard lock(mutex_);
    file_.reset();
  }

 private:
  void put(std::string_view text) {
    spdlog::memory_buf_t bytes;
    bytes.append(text.data(), text.data() + text.size());
    file_->write(bytes);
    file_->flush();
  }
  void sink_it_(const spdlog::details::log_msg& message) override {
    if (!file_ || level_of(message) < least_) return;
    spdlog::memory_buf_t formatted;
    formatter_->format(message, formatted);
    file_->write(formatted);
    file_->flush();
  }
  void flush_() override {}
  std::optional<spdlog::details::file_helper> file_;
  Level least_ = Level::info;
};

/// Outlives every static object: threads may log until the process ends.
struct Logs {
  std::shared_ptr<ScreenSink> screen = std::make_shared<ScreenSink>();
  std::shared_ptr<RingSink> ring = std::make_shared<RingSink>();
  std::shared_ptr<FileSink> file = std::make_shared<FileSink>();
  spdlog::logger all{"all", {ring, file, screen}}, files{"files", {ring, file}};
  Logs() {
    for (spdlog::logger* logger : {&all, &files}) {
      logger->set_level(spdlog::level::trace);
      logger->set_error_handler([](const std::string&) {});  // a full disk ends no run
    }
  }
};
Logs& logs() {
  static Logs* const all = new Logs;
  return *all;
}

}  // namespace

std::string_view name_of(Level level) { return names[static_cast<std::size_t>(level)]; }

std::optional<Level> level_named(std::string_view name) {
  for (std::size_t i = 0; i < std::size(names); ++i)
    if (names[i] == name) return static_cast<Level>(i);
  return std::nullopt;
}

std::optional<Level> level_from_environment() {
  const std::string name = environment_variable("TRAINX_LOG");
  if (name.empty()) return std::nullopt;
  const auto level = level_named(name);
  if (!level)
    throw UserError(ExitCode::usage, "TRAINX_LOG is '" + name +
                                         "'; it takes debug, info, warning or error" +
                                         did_you_mean(name, {"debug", "info", "warning", "error"}));
  return level;
}

void write(Level level, std::string_view text) {
  logs().all.log(spdlog_level(level), spdlog::string_view_t(text.data(), text.size()));
}
void record(Level level, std::string_view text) {
  logs().files.log(spdlog_level(level), spdlog::string_view_t(text.data(), text.size()));
}

void set_rank(int rank) { current_rank = rank; }
void set_step(std::int64_t step) { current_step = step; }

std::vector<Line> kept_lines() {
  std::vector<Line> lines;
  for (auto& kept : logs().ring->kept()) lines.push_back(std::move(kept.line));
  return lines;
}

bool open_file(const std::string& path, Level least) {
  std::error_code unknown;
  if (!std::filesystem::is_directory(std::filesystem::path(path).parent_path(), unknown))
    return false;
  const bool open = logs().file->open(path, least, logs().ring->kept());
  if (open) logs().ring->keep_no_more();
  return open;
}

void close_file() { logs().file->close(); }

Screen::Screen(Level least, Show show) { logs().screen->attach({this, least, std::move(show)}); }
Screen::~Screen() { logs().screen->detach(this); }

}  // namespace trainx::log
