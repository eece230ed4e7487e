// One worker as a process.
#pragma once
#include "core/descriptor.hpp"
#include "launch/job.hpp"
#include "launch/worker_signals.hpp"

namespace trainx::launch {

/// What a worker inherits beside its job; -1: nothing, and this process's own stdout and stderr.
struct WorkerFiles {
  int listener = -1;
  int output = -1, errors = -1;
  // for what the worker tells people, apart from what libraries write to stderr; -1: stderr
  int console = -1;
};

/// A worker that was started.
struct WorkerProcess {
  pid_t id = 0;
  Descriptor job;  // shared with the worker: so much of it as the worker has read, is read here

  /// The worker's own code has run: its libraries are loaded.
  bool has_begun() const;
};

/// From here on workers of `worker_path()` are forks of this process that call `body` with their
/// arguments, for a process that has loaded a worker's libraries already (tests/equality). The
/// process must have one thread when it starts them.
void start_workers_as_forks(int (*body)(int argc, char** argv));

/// Starts the worker as leader of a process group of its own, with the job on descriptor 3, the
/// listener on 4 and the console on 5 where the job says so. It ends when this process does, also
/// on kill -9. Called on the main thread, with whose end the kernel would end it. Throws
/// UserError 69.
WorkerProcess start_worker(const std::string& path, Job job, const WorkerFiles& files,
                           const HeldSignals& held);

}  // namespace trainx::launch
