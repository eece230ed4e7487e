// Says, while it lives, that this rank waits for the others.
#pragma once
#include "dist/control.hpp"

namespace trainx::dist {

class WaitsForPeers {
 public:
  explicit WaitsForPeers(Progress& progress) : progress_(progress), before_(progress.waits_for_peers.exchange(true)) {}
  ~WaitsForPeers() { progress_.waits_for_peers = before_; }
  WaitsForPeers(const WaitsForPeers&) = delete;
  WaitsForPeers& operator=(const WaitsForPeers&) = delete;

 private:
  Progress& progress_;
  bool before_;
};

}  // namespace trainx::dist
