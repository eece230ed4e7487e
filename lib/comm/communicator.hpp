// Collectives over the memory of the ranks' processes.
#pragma once
#include "core/dtype.hpp"
#include "comm/control.hpp"
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace trainx::comm {

/// Each call is made by all ranks, in the same order and with the same sizes, from one thread at a
/// time, and returns when the result is there. Sums are made in the order of ranks, hence bit-equal
/// on all ranks and whatever the transport: f32, f64 and i64 in their own type, bf16 and f16 in
/// fp32 and rounded once. Throws the run's failure (Control), and UserError 81, on all ranks, where
/// they do not make the same call.
class Communicator {
 public:
  virtual ~Communicator() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// "shared memory", "TCP"
  virtual const char* transport() const = 0;
  virtual void all_reduce(std::byte* data, std::int64_t elements, DType dtype) = 0;
  /// The largest of all ranks' numbers; NaN where any is one.
  void all_reduce_max(float* data, std::int64_t elements);
  /// The sum arrives at `root`, elsewhere the data stays as it is.
  virtual void reduce(std::byte* data, std::int64_t elements, DType dtype, int root) = 0;
  virtual void broadcast(std::byte* data, std::int64_t bytes, int root) = 0;
  /// `full`: size() shards after one another; each rank gets the sum of its own.
  virtual void reduce_scatter(const std::byte* full, std::byte* shard, std::int64_t shard_elements,
                              DType dtype) = 0;
  virtual void all_gather(const std::byte* shard, std::byte* full, std::int64_t shard_bytes) = 0;
  /// `out`: size() slots after one another, one for each rank; `in`: those that the ranks have for
  /// this one, in their order. The two do not overlap.
  virtual void all_to_all(const std::byte* out, std::byte* in, std::int64_t slot_bytes) = 0;
  virtual void send(const std::byte* data, std::int64_t bytes, int to) = 0;
  virtual void recv(std::byte* data, std::int64_t bytes, int from) = 0;
};

/// Through shared memory where all ranks run on one host, else over TCP connections between all of
/// them. `forced`: "shared memory" or "TCP"; empty: chosen. Called by all ranks. Nothing of it is
/// left on the machine however the processes end. Throws UserError 69.
std::unique_ptr<Communicator> make_communicator(Control& control, const std::string& forced = {});

}  // namespace trainx::comm
