#include "launch/worker_output.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "core/process.hpp"
#include <fcntl.h>
#include <cerrno>
#include <filesystem>

namespace trainx::launch {
namespace {

constexpr auto look_for_folder = std::chrono::seconds(1);
// a reader of stderr that takes nothing for so long when all workers have ended
constexpr auto patience = std::chrono::seconds(2);

/// Where the run keeps its files: with --fork beside the run that it begins from.
std::string folder_of_run(const Job& job) {
  return job.fork_name.empty()
             ? job.run_folder
             : (std::filesystem::path(job.run_folder).parent_path() / job.fork_name).string();
}

}  // namespace

WorkerOutput::WorkerOutput(const Job& job, const LaunchPlan& plan) {
  if (plan.first.world_size == 1 || !plan.is_launcher()) return;
  const bool terminal = ::isatty(STDERR_FILENO) == 1;
  for (int i = 0; i < plan.workers; ++i) {
    const int rank = plan.membership(i).rank;
    if (rank == 0 && terminal) continue;
    RankLog& log = logs_.emplace_back(folder_of_run(job), rank,
                                      "-- rank " + std::to_string(rank) + " of " +
                                          std::to_string(plan.first.world_size) + " starts on " +
                                          host_name() + ", " + utc_time());
    add(i, rank, Kind::console, log);
    add(i, rank, Kind::errors, log);
    if (rank > 0) add(i, rank, Kind::output, log);
  }
}

void WorkerOutput::add(int worker, int rank, Kind kind, RankLog& log) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    throw UserError(ExitCode::unavailable,
                    "there is no pipe for what rank " + std::to_string(rank) + " says: " +
                        errno_words(errno) + "; raise the limit of open files (ulimit -n)");
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  streams_.push_back(
      {worker, rank, kind, LineReader(Descriptor(ends[0])), Descriptor(ends[1]), &log});
}

WorkerFiles WorkerOutput::files(int i) const {
  WorkerFiles files;
  for (const Stream& s : streams_)
    if (s.worker == i)
      (s.kind == Kind::errors    ? files.errors
       : s.kind == Kind::console ? files.console
                                 : files.output) = s.writing.get();
  return files;
}

void WorkerOutput::started() {
  for (Stream& s : streams_) s.writing.close();
}

void WorkerOutput::add_to(std::vector<pollfd>& waited) const {
  if (screen_.pending()) waited.push_back({screen_.descriptor(), POLLOUT, 0});
  for (const Stream& s : streams_)
    if (s.reader.descriptor() >= 0) waited.push_back({s.reader.descriptor(), POLLIN, 0});
}

WorkerOutput::Time WorkerOutput::due(Time now) const {
  Time due = closing_.due();
  if (finished_ && screen_.pending()) due = std::min(due, taken_ + patience);
  for (const RankLog& log : logs_)
    if (log.waits()) due = std::min(due, now + look_for_folder);
  return due;
}

bool WorkerOutput::pending(Time now) const { return screen_.pending() && now < taken_ + patience; }

void WorkerOutput::take(const Stream& s, std::string_view line, Time now) {
  if (s.kind != Kind::console) s.log->write(line);
  if (s.kind == Kind::output) return;
  if (s.rank == 0)
    closing_.told(line), screen_.put(line);
  else if (!closing_.keep(s.rank, line, now))
    screen_.put(rank_prefix({s.rank}) + std::string(line));
}

void WorkerOutput::relay(Time now) {
  for (Stream& s : streams_) s.reader.read([&](std::string_view line) { take(s, line, now); });
  for (RankLog& log : logs_) log.write_kept();
  if (now >= closing_.due())
    for (const std::string& line : closing_.release()) screen_.put(line);
  if (screen_.write()) taken_ = now;
}

void WorkerOutput::finish() {
  for (Stream& s : streams_) s.reader.finish([&](std::string_view line) { take(s, line, Time()); });
  for (const std::string& line : closing_.release()) screen_.put(line);
  for (RankLog& log : logs_) log.write_kept();
  screen_.write();
  finished_ = true;
  taken_ = std::chrono::steady_clock::now();
}

}  // namespace trainx::launch
