// Says, while it lives, that this rank waits for the others.
#pragma once
#include "comm/control.hpp"

namespace trainx::comm {

class WaitsForPeers {
 public:
  explicit WaitsForPeers(Progress& progress) : progress_(progress) { ++progress_.waiting; }
  ~WaitsForPeers() { --progress_.waiting; }
  WaitsForPeers(const WaitsForPeers&) = delete;
  WaitsForPeers& operator=(const WaitsForPeers&) = delete;

 private:
  Progress& progress_;
};

}  // namespace trainx::comm
