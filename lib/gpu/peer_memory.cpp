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

std::unique_ptr<PeerMemory> PeerMemory::open(const std::vector<std::string>& offers, int rank,
                                             void* own) {
  std::unique_ptr<PeerMemory> peers(new PeerMemory(rank));
  for (std::size_t r = 0; r < offers.size(); ++r) {
    void* base = own;
    if (static_cast<int>(r) != rank) {
      cudaIpcMemHandle_t handle{};
      if (offers[r].size() != sizeof handle) return nullptr;
      std::memcpy(&handle, offers[r].data(), sizeof handle);
      if (cudaIpcOpenMemHandle(&base, handle, cudaIpcMemLazyEnablePeerAccess) != cudaSuccess) {
        cudaGetLastError();
        return nullptr;
      }
    }
    peers->bases_.push_back(static_cast<std::byte*>(base));
  }
  return peers;
}

PeerMemory::~PeerMemory() {
  for (std::size_t r = 0; r < bases_.size(); ++r)
    if (static_cast<int>(r) != rank_) cudaIpcCloseMemHandle(bases_[r]);
}

}  // namespace trainx::gpu
