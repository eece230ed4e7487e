// The groups of ranks that this one makes collectives with.
#pragma once
#include "comm/communicator.hpp"
#include "program/program.hpp"

namespace trainx::execute {

/// Null: there is one rank. References must outlive it.
struct Communicators {
  comm::Communicator* all = nullptr;
  // null where one group of all ranks holds the shards
  comm::Communicator *shards = nullptr, *replicas = nullptr;
  // null where all ranks share the experts
  comm::Communicator *experts = nullptr, *expert_replicas = nullptr;

  Communicators() = default;
  // NOLINT(google-explicit-constructor): one communicator is that of all ranks
  Communicators(comm::Communicator* of_all) : all(of_all) {}
  Communicators(comm::Communicator* of_all, comm::Communicator* of_shards,
                comm::Communicator* of_replicas, comm::Communicator* of_experts = nullptr,
                comm::Communicator* of_expert_replicas = nullptr)
      : all(of_all),
        shards(of_shards),
        replicas(of_replicas),
        experts(of_experts),
        expert_replicas(of_expert_replicas) {}
  comm::Communicator* along(program::Axis axis) const {
    switch (axis) {
      case program::Axis::data: return all;
      case program::Axis::shard: return shards ? shards : all;
      case program::Axis::replica: return replicas;
      case program::Axis::expert: return experts ? experts : all;
      case program::Axis::expert_replica: return expert_replicas;
    }
    return nullptr;
  }
};

}  // namespace trainx::execute
