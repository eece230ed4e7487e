// What a run is expected to take.
#pragma once
#include "hardware/links.hpp"
#include "program/time.hpp"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace trainx::plan {

struct MemoryPlan {
  // weights, master, gradients, optimizer state, activations, ..., in bytes at the peak
  std::vector<std::pair<std::string, std::int64_t>> categories;
  std::int64_t arena_bytes = 0;    // one arena for training and evaluation
  std::int64_t library_bytes = 0;  // what library calls allocate beside it, at most
  // that programs keep on the host: pinned memory beside a GPU, on a CPU an arena of its own
  std::int64_t host_bytes = 0;
  // of those, by what they hold where the host is fullest
  std::vector<std::pair<std::string, std::int64_t>> on_host;
  std::int64_t disk_bytes = 0;  // that programs keep in a file
  // of a GPU's process with an optimizer or weights on the host, or whose checkpoints are written
  // beside training: weights as they are loaded, a checkpoint on its way to disk
  std::int64_t beside_host_bytes = 0;
  // on a CPU LibTorch itself, copies of a group while weights are loaded and saved, batches ahead;
  // on a GPU context and kernels
  std::int64_t process_bytes = 0;
  // frozen weights in the host's memory that its ranks hold once (shared_weights.hpp), and of
  // those what does not count for this rank: in total_bytes() on a CPU, in host_bytes beside a GPU
  std::int64_t shared_bytes = 0, of_other_ranks_bytes = 0, on_host_of_other_ranks_bytes = 0;
  std::int64_t budget_bytes = 0;
  std::int64_t total_bytes() const {
    return arena_bytes + library_bytes + process_bytes - of_other_ranks_bytes;
  }
};

/// Of the network between the run's hosts.
struct NetworkPrediction {
  double bytes_per_s = 0;  // for each rank, each way; 0: not known
  double latency_s = 0;    // of a collective
  // between how many hosts, of how many ranks each, it was measured; 0: it is a guess
  std::int64_t measured_hosts = 0, measured_ranks_per_host = 0;
};

struct Prediction {
  MemoryPlan memory;
  std::optional<program::TimePrediction> time;  // where rates of the device are known
  double pipeline_idle_share = 0;               // of a step, in which stages wait for each other
  bool rates_are_estimated = false;             // else measured
  // of estimated ones, against speeds that others published; 0: never compared
  double published_error = 0;
  // of the time: those of the device, with guesses where links or network were not measured
  std::optional<program::Rates> step_rates;
  // of the time, where links were not measured: those of another machine; 0: left out
  double assumed_link_bytes_per_s = 0;
  // between the ranks of a host: of this machine, of the data sheet, or as --links says
  std::optional<hardware::Links> links;
  bool links_are_of_data_sheet = false;
  // of several hosts, as many ranks on each; 0: one host
  std::int64_t ranks_per_host = 0;
  NetworkPrediction network;
  // a second, of the chip in the plan's arithmetic; 0: not known
  double peak_flops = 0;
};

}  // namespace trainx::plan
