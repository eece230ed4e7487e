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

  Communicators() = default;
  // NOLINT(google-explicit-constructor): one communicator is that of all ranks
  Communicators(comm::Communicator* of_all) : all(of_all) {}
  Communicators(comm::Communicator* of_all, comm::Communicator* of_shards,
                comm::Communicator* of_replicas)
      : all(of_all), shards(of_shards), replicas(of_replicas) {}
  comm::Communicator* along(program::Axis axis) const {
    return axis == program::Axis::shard && shards ? shards
           : axis == program::Axis::replica       ? replicas
                                                  : all;
  }
};

}  // namespace trainx::execute
