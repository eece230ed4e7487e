// Collectives over TCP connections between all ranks: the arithmetic of shared memory's, in the
// same order.
#pragma once
#include "comm/communicator.hpp"
#include "comm/peer_sockets.hpp"
#include <cstdint>

namespace trainx::comm {

class TcpCommunicator final : public Communicator {
 public:
  /// Called by all ranks.
  explicit TcpCommunicator(Control& control);
  int rank() const override { return control_.rank(); }
  int size() const override { return control_.world_size(); }
  const char* transport() const override { return "TCP"; }
  void all_reduce(std::byte* data, std::int64_t elements, DType dtype) override;
  void reduce(std::byte* data, std::int64_t elements, DType dtype, int root) override;
  void broadcast(std::byte* data, std::int64_t bytes, int root) override;
  void reduce_scatter(const std::byte* full, std::byte* shard, std::int64_t shard_elements,
                      DType dtype) override;
  void all_gather(const std::byte* shard, std::byte* full, std::int64_t shard_bytes) override;
  void all_to_all(const std::byte* out, std::byte* in, std::int64_t slot_bytes) override;
  void send(const std::byte* data, std::int64_t bytes, int to) override;
  void recv(std::byte* data, std::int64_t bytes, int from) override;

 private:
  Call begin(CallKind kind, std::int64_t bytes, DType dtype, int root);
  /// Empty flows to and from all, which say and expect `call` where it is given.
  std::vector<PeerSockets::Flow> flows(const Call* call) const;
  void transfer(std::vector<PeerSockets::Flow>& flows);
  void sum_to(std::byte* data, std::int64_t elements, DType dtype, const Call& call);
  void sum_whole(std::byte* data, std::int64_t elements, DType dtype, const Call& call);
  // where that rank's bytes of a piece are put before they are summed
  std::byte* received(int rank, std::int64_t each_bytes);

  Control& control_;
  PeerSockets sockets_;
  std::vector<std::byte> received_;
  std::vector<const std::byte*> sources_;  // of a sum, by rank
  std::int64_t sequence_ = 0;
};

}  // namespace trainx::comm
