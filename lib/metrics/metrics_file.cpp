#include "metrics/metrics_file.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "metrics/report.hpp"
#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <unistd.h>
#include <cerrno>
#include <filesystem>
#include <string_view>

namespace trainx::metrics {
namespace {

bool belongs_to(std::string_view line, std::int64_t resumed_step) {
  const auto j = nlohmann::json::parse(line, nullptr, false);
  if (!j.is_object()) return false;
  const auto step = j.find("step");
  return step == j.end() || !step->is_number_integer() || step->get<std::int64_t>() <= resumed_step;
}

/// The whole lines of steps up to `resumed_step`.
std::string kept_lines(const std::string& text, std::int64_t resumed_step) {
  std::string kept;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    if (end == std::string::npos) break;   // a line without its end was cut off
    const std::string_view line(text.data() + begin, end - begin);
    if (belongs_to(line, resumed_step)) kept.append(line).push_back('\n');
    begin = end + 1;
  }
  return kept;
}

}  // namespace

MetricsFile::MetricsFile(std::string path, std::int64_t resumed_step) : path_(std::move(path)) {
  if (std::filesystem::exists(path_)) {
    const std::string text = read_file(path_);
    const std::string kept = kept_lines(text, resumed_step);
    if (kept != text) write_file_atomic(path_, kept);
    size_ = static_cast<std::int64_t>(kept.size());
  }
  fd_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (fd_ < 0) throw UserError(ExitCode::io_error, path_ + " cannot be written: " + errno_words(errno));
}

MetricsFile::~MetricsFile() {
  if (fd_ >= 0) ::close(fd_);
}

void MetricsFile::append(const nlohmann::ordered_json& object) {
  waiting_ += json_line(object) + "\n";
  ssize_t written = 0;
  do written = ::pwrite(fd_, waiting_.data(), waiting_.size(), size_);
  while (written < 0 && errno == EINTR);
  if (written == static_cast<ssize_t>(waiting_.size())) {
    size_ += written;
    waiting_.clear();
    problem_.clear();
    return;
  }
  problem_ = path_ + ": " + errno_words(written < 0 ? errno : ENOSPC);
  // Half a line must not stay behind; where cutting it off fails too, the next write goes over it.
  if (::ftruncate(fd_, size_) != 0) problem_ += ", and its last line is incomplete";
}

}  // namespace trainx::metrics
