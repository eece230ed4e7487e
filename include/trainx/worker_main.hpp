#pragma once

namespace trainx {

/// All that a worker does: jobs of trainx (descriptor 3), `--describe` and `--describe-graph`.
/// Returns the exit code. The whole of a worker's main:
///   int main(int argc, char** argv) { return trainx::worker_main(argc, argv); }
int worker_main(int argc, char** argv);

}  // namespace trainx
