// What several workers of one launcher say.
//
// A worker writes its own log (lib/log) and tells people the same on a descriptor of its own, the
// console. Rank 0 of a terminal has the launcher's stdout and stderr, and draws its status line
// there. Elsewhere consoles go through the launcher line by line, those of other ranks with the
// rank before each line. What libraries write to stderr goes the same way, and into the rank's log
// file; stdout of other ranks, which would be rank 0's data once more, into their log files alone.
#pragma once
#include "launch/closing_sentences.hpp"
#include "launch/launch_plan.hpp"
#include "launch/line_reader.hpp"
#include "launch/rank_log.hpp"
#include "launch/stderr_writer.hpp"
#include "launch/worker_process.hpp"
#include <poll.h>
#include <cstdint>
#include <list>

namespace trainx::launch {

class WorkerOutput {
 public:
  using Time = ClosingSentences::Time;

  /// Nothing is relayed, and no log written, for a worker alone or one that another launcher
  /// started: those have the launcher's own stdout and stderr. Throws UserError 69: there are no
  /// pipes.
  WorkerOutput(const Job& job, const LaunchPlan& plan);
  /// What worker i of the plan is started with.
  WorkerFiles files(int i) const;
  /// The workers hold their ends of the pipes; the launcher lets go of them, else no pipe would
  /// ever end.
  void started();

  void add_to(std::vector<pollfd>& waited) const;
  /// When relay is to be called though nothing came; Time::max(): never.
  Time due(Time now) const;
  /// Passes on what is there.
  void relay(Time now);
  /// All workers have ended: passes on the rest.
  void finish();
  /// After finish: lines are on their way to stderr, and its reader took some a moment ago.
  bool pending(Time now) const;

 private:
  enum class Kind : std::uint8_t { output, errors, console };
  struct Stream {
    int worker, rank;
    Kind kind;
    LineReader reader;
    Descriptor writing;
    RankLog* log;
  };
  void add(int worker, int rank, Kind kind, RankLog& log);
  void take(const Stream& stream, std::string_view line, Time now);

  std::list<RankLog> logs_;  // their addresses stay
  std::vector<Stream> streams_;
  ClosingSentences closing_;
  StderrWriter screen_;
  Time taken_;  // when stderr's reader last took something
  bool finished_ = false;
};

}  // namespace trainx::launch
