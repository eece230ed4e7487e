#include "gpu/peer_memory.hpp"
#include <cuda_runtime_api.h>
#include <cstdlib>
#include <cstring>

namespace trainx::gpu {

std::string PeerMemory::offer(void* memory) {
  if (const char* off = std::getenv("NCCL_P2P_DISABLE"); off && std::string(off) == "1") return "";
  cudaIpcMemHandle_t handle{};
  if (cudaIpcGetMemHandle(&handle, memory) != cudaSuccess) {
    cudaGetLastError();
    return "";
  }
  return {reinterpret_cast<const char*>(&handle), sizeof handle};
}

std::unique_ptr<PeerMemory> PeerMemory::open(const std::vector<std::string>& offers,
                                             const std::vector<int>& members, int rank, void* own) {
  std::unique_ptr<PeerMemory> peers(new PeerMemory(rank));
  peers->bases_.resize(offers.size());
  for (const int member : members) {
    const std::string& offer = offers.at(static_cast<std::size_t>(member));
    void* base = own;
    if (member != rank) {
      cudaIpcMemHandle_t handle{};
      if (offer.size() != sizeof handle) return nullptr;
      std::memcpy(&handle, offer.data(), sizeof handle);
      if (cudaIpcOpenMemHandle(&base, handle, cudaIpcMemLazyEnablePeerAccess) != cudaSuccess) {
        cudaGetLastError();
        return nullptr;
      }
    }
    peers->bases_[static_cast<std::size_t>(member)] = static_cast<std::byte*>(base);
  }
  return peers;
}

PeerMemory::~PeerMemory() {
  for (std::size_t r = 0; r < bases_.size(); ++r)
    if (bases_[r] && static_cast<int>(r) != rank_) cudaIpcCloseMemHandle(bases_[r]);
}

}  // namespace trainx::gpu
