// What several workers of one launcher say.
//
// Rank 0 has the launcher's stdout, and its stderr where that is a terminal, on which it draws its status line; it has no log file then, as only a terminal of
// its own could copy what is drawn. Elsewhere its stderr goes through the launcher, unchanged, into logs/rank-0.log as well. Of the other ranks, stderr goes
// line by line to the launcher's, with the rank before it, and into their logs; stdout, which would be rank 0's data once more, into their logs alone.
#pragma once
#include "launch/closing_sentences.hpp"
#include "launch/launch_plan.hpp"
#include "launch/line_reader.hpp"
#include "launch/rank_log.hpp"
#include "launch/stderr_writer.hpp"
#include "launch/worker_process.hpp"
#include <poll.h>
#include <list>

namespace trainx::launch {

class WorkerOutput {
 public:
  using Time = ClosingSentences::Time;

  /// Nothing is relayed, and no log written, for a worker alone or one that another launcher started: those have the launcher's own stdout and stderr.
  /// Throws UserError 69: there are no pipes.
  WorkerOutput(const Job& job, const LaunchPlan& plan);
  /// What worker i of the plan is started with.
  WorkerFiles files(int i) const;
  /// The workers hold their ends of the pipes; the launcher lets go of them, else no pipe would ever end.
  void started();

  void add_to(std::vector<pollfd>& waited) const;
  /// When relay is to be called though nothing came; Time::max(): never.
  Time due(Time now) const;
  /// Passes on what is there.
  void relay(Time now);
  /// All workers have ended: passes on the rest.
  void finish();
  /// A line of the launcher's own is still on its way to stderr.
  bool pending() const { return screen_.pending(); }

 private:
  struct Stream {
    int worker, rank;
    bool errors;                        // else stdout
    LineReader reader;
    Descriptor writing;
    RankLog* log;
  };
  void add(int worker, int rank, bool errors, RankLog& log);
  void take(const Stream& stream, std::string_view line, Time now);

  std::list<RankLog> logs_;             // their addresses stay
  std::vector<Stream> streams_;
  ClosingSentences closing_;
  StderrWriter screen_;
};

}  // namespace trainx::launch
