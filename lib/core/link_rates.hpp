// How fast the GPUs of a machine reach each other and its memory, as measured. A GPU is named by
// its PCI address, "0000:17:00.0".
#pragma once
#include <optional>
#include <string>
#include <vector>

namespace trainx {

/// Between a GPU and pinned memory of the host, one direction at a time.
struct HostLinkRate {
  std::string gpu;
  double to_gpu_bytes_per_second = 0, to_host_bytes_per_second = 0;
};

/// Copies from one GPU to another.
struct PairLinkRate {
  std::string from, to;
  // without peer access: through the host's memory
  double staged_bytes_per_second = 0;
  std::optional<double> direct_bytes_per_second;  // with it, where there is any
  // of a few bytes, from the call to its end; with peer access where there is any
  double latency_seconds = 0;
};

/// Sums over all GPUs at once, as training makes them.
struct SumRate {
  int gpus = 0;
  // that each GPU sends: of a ring, 2 (gpus - 1) / gpus of the summed bytes
  double bytes_per_second = 0;
  double latency_seconds = 0;  // of a few bytes
};

struct LinkRates {
  std::vector<HostLinkRate> hosts;
  std::vector<PairLinkRate> pairs;
  std::optional<SumRate> sum;  // empty: one GPU, or `sum_problem`
  std::string sum_problem;
};

}  // namespace trainx
