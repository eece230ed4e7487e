#include "launch/rank_log.hpp"
#include "core/restarted.hpp"
#include "launch/closing_sentences.hpp"
#include <fcntl.h>
#include <sys/stat.h>
#include <cerrno>
#include <utility>

namespace trainx::launch {
namespace {

constexpr std::size_t most_kept_bytes = 1 << 20;

}  // namespace

RankLog::RankLog(std::string run_folder, int rank, const std::string& first_line)
    : run_folder_(std::move(run_folder)),
      path_(run_folder_ + "/logs/rank-" + std::to_string(rank) + ".log"),
      first_line_(first_line + "\n") {}

void RankLog::write(std::string_view line) {
  if (!lost_ && kept_.size() < most_kept_bytes)
    kept_ += std::exchange(first_line_, {}) + without_colors(line) + "\n";
  write_kept();
}

void RankLog::write_kept() {
  struct stat folder {};
  if (!file_.is_open() && !kept_.empty() && ::stat(run_folder_.c_str(), &folder) == 0) {
    // it may be there; what else fails, open tells
    ::mkdir((run_folder_ + "/logs").c_str(), 0777);
    file_ = Descriptor(restarted(
        [&] { return ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666); }));
    lost_ = !file_.is_open();
    if (lost_) kept_.clear();
  }
  if (!file_.is_open()) return;
  for (std::size_t done = 0; done < kept_.size();) {
    const ssize_t n = ::write(file_.get(), kept_.data() + done, kept_.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;  // e.g. a full disk: the line is lost, the run is not
    done += static_cast<std::size_t>(n);
  }
  kept_.clear();
}

}  // namespace trainx::launch
