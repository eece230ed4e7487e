// Device memory of other processes of this host, for copies between GPUs that take no kernels.
#pragma once
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace trainx::gpu {

/// Memory of other ranks of this host, mapped into this process for as long as this lives. Their
/// processes may end before.
class PeerMemory {
 public:
  /// What the others need of `memory`, the beginning of what cudaMalloc gave, for open(); "" where
  /// it cannot be handed out, or NCCL_P2P_DISABLE=1 asks for no copies between GPUs.
  static std::string offer(void* memory);
  /// Of `members`, ranks of this host, this one among them: `offers` by rank, `own` is this one's
  /// memory. Null where one cannot be opened: another container, or GPUs that do not reach each
  /// other.
  static std::unique_ptr<PeerMemory> open(const std::vector<std::string>& offers,
                                          const std::vector<int>& members, int rank, void* own);
  ~PeerMemory();
  PeerMemory(const PeerMemory&) = delete;
  PeerMemory& operator=(const PeerMemory&) = delete;
  /// Of a member.
  std::byte* of(int rank) const { return bases_.at(static_cast<std::size_t>(rank)); }

 private:
  explicit PeerMemory(int rank) : rank_(rank) {}
  int rank_;
  std::vector<std::byte*> bases_;  // by rank, null of others than members; its own is not closed
};

}  // namespace trainx::gpu
