#pragma once
#include "core/error.hpp"
#include "execute/placed_memory.hpp"
#include "program/operations.hpp"

namespace trainx::execute {

/// Makes the instruction's collective over `ranks` (comm::Communicator, or gpu::NcclCommunicator
/// with the `stream` that it is enqueued on). InternalError for other instructions.
template <class Ranks, class... Stream>
void run_collective(const program::Instruction& i, const PlacedMemory& memory, Ranks& ranks,
                    Stream... stream) {
  using namespace program;
  const auto bytes = [&](const Use& u) { return memory.bytes(u); };
  const auto dtype = [&](const Use& u) { return memory.buffer(u).dtype; };
  const auto elements = [&](const Use& u) { return bytes(u) / size_of(dtype(u)); };
  switch (i.op) {
    case Op::reduce:
      for (const Use& u : i.uses)
        memory.buffer(u).role == Role::fp8_scales
            ? ranks.all_reduce_max(reinterpret_cast<float*>(memory.address(u)), elements(u),
                                   stream...)
        : i.peer == none
            ? ranks.all_reduce(memory.address(u), elements(u), dtype(u), stream...)
            : ranks.reduce(memory.address(u), elements(u), dtype(u), i.peer, stream...);
      return;
    case Op::scatter:
      for (int k = 0; const Use* full = find_use(i, ShardSlot::from(k)); ++k) {
        const Use& shard = use_of(i, ShardSlot::to(k));
        ranks.reduce_scatter(memory.address(*full), memory.address(shard), elements(shard),
                             dtype(shard), stream...);
      }
      return;
    case Op::gather:
      for (int k = 0; const Use* shard = find_use(i, ShardSlot::from(k)); ++k)
        ranks.all_gather(memory.address(*shard), memory.address(use_of(i, ShardSlot::to(k))),
                         bytes(*shard), stream...);
      return;
    case Op::all_to_all:
      for (int k = 0; const Use* out = find_use(i, ShardSlot::from(k)); ++k)
        ranks.all_to_all(memory.address(*out), memory.address(use_of(i, ShardSlot::to(k))),
                         bytes(*out) / ranks.size(), stream...);
      return;
    case Op::broadcast:
      for (const Use& u : i.uses) ranks.broadcast(memory.address(u), bytes(u), i.peer, stream...);
      return;
    case Op::send: {
      const Use& u = use_of(i, CopySlot::from);
      return ranks.send(memory.address(u), bytes(u), i.peer, stream...);
    }
    case Op::recv: {
      const Use& u = use_of(i, CopySlot::to);
      return ranks.recv(memory.address(u), bytes(u), i.peer, stream...);
    }
    default: throw InternalError("no collective: " + std::string(name_of(i.op)));
  }
}

}  // namespace trainx::execute
