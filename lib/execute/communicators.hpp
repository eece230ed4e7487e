// The groups of ranks that this one makes collectives with.
#pragma once
#include "comm/communicator.hpp"
#include "program/mesh.hpp"
#include <map>

namespace trainx::execute {

/// Null where there is one rank. Communicators must outlive it.
class Communicators {
 public:
  Communicators() = default;
  // NOLINT(google-explicit-constructor): one communicator is that of all ranks
  Communicators(comm::Communicator* of_all) : all_(of_all) {}
  /// `groups`: by Mesh::significant, those of fewer ranks.
  Communicators(comm::Communicator* of_all, const program::Mesh& mesh,
                std::map<program::AxisSet, comm::Communicator*> groups)
      : all_(of_all), mesh_(mesh), groups_(std::move(groups)) {}

  comm::Communicator* all() const { return all_; }
  /// With those that differ from this rank along the set alone; null: nobody made it.
  comm::Communicator* along(program::AxisSet set) const {
    const auto found = groups_.find(mesh_.significant(set));
    if (found != groups_.end()) return found->second;
    return mesh_.size(set) == mesh_.ranks() ? all_ : nullptr;
  }

 private:
  comm::Communicator* all_ = nullptr;
  program::Mesh mesh_;
  std::map<program::AxisSet, comm::Communicator*> groups_;
};

}  // namespace trainx::execute
