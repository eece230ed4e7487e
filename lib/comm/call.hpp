// What one rank asks of a collective: all must ask the same.
#pragma once
#include "core/dtype.hpp"
#include "comm/control.hpp"
#include <cstdint>
#include <span>
#include <string>

namespace trainx::comm {

enum class CallKind : std::int32_t {
  none,
  all_reduce,
  reduce,
  broadcast,
  reduce_scatter,
  all_gather,
  all_to_all,
  send,
  recv
};

/// As it lies in shared memory and goes over the wire before a collective's data.
struct Call {
  std::int64_t sequence = 0;  // of the collectives; 0 for send and recv
  // all_reduce, reduce, broadcast, send: all; reduce_scatter, all_gather: one shard;
  // all_to_all: one slot
  std::int64_t bytes = 0;
  CallKind kind = CallKind::none;
  std::int32_t dtype = 0, root = 0, unused = 0;  // root: of send, to whom; of recv, from whom
  bool operator==(const Call&) const = default;
};

/// "all_reduce of 16 bytes as f32 (collective 3)"
std::string words_of(const Call& call);
/// Fails the run on all ranks (81) where the calls, by rank, are not one; naming the first rank
/// that differs from rank 0.
void check_same(Control& control, std::span<const Call> calls);
/// The same where two ranks alone know of each other's calls. Of send and recv, which match each
/// other, see check_received.
void check_same(Control& control, int rank, const Call& call, int other_rank, const Call& other);
/// The same of a rank that receives `bytes` and what came from the other one.
void check_received(Control& control, int rank, std::int64_t bytes, int from, const Call& came);

}  // namespace trainx::comm
