// Collectives through memory that the ranks of one host share: pieces go through a ring of slots
// per rank, so that copying and summing of different ranks overlap.
#pragma once
#include "comm/communicator.hpp"
#include "comm/shared_counters.hpp"
#include "comm/shared_segment.hpp"
#include <cstdint>
#include <functional>

namespace trainx::comm {

class SharedMemoryCommunicator final : public Communicator {
 public:
  /// Called by all ranks; null on all where they share no memory, then `why` says why.
  static std::unique_ptr<Communicator> make(Control& control, std::string& why);

  int rank() const override { return control_.rank(); }
  int size() const override { return control_.world_size(); }
  const char* transport() const override { return "shared memory"; }
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
  struct Layout;
  struct Box;
  /// What a collective does with each of its pieces, of which all ranks have as many.
  struct Stages {
    // into one's own slot; of one's own part, once all have put; of all parts, once all have summed
    std::function<void(std::int64_t piece)> put, sum, gather;
    bool gather_awaits_sums = true;
  };
  SharedMemoryCommunicator(Control& control, SharedSegment segment);
  void run(CallKind kind, std::int64_t bytes, DType dtype, int root, std::int64_t pieces,
           const Stages& stages);
  void await(std::atomic<std::uint64_t> RankCounters::*counter, std::uint64_t value);
  void check_calls(std::uint64_t piece);
  void sum_to(std::byte* data, std::int64_t elements, DType dtype, CallKind kind, int root);
  std::byte* slot(int rank, std::int64_t piece) const;
  Call& call_of(int rank, std::uint64_t piece) const;
  Box& box(int from, int to) const;
  std::byte* box_slot(int from, int to, std::uint64_t piece) const;

  Control& control_;
  SharedSegment segment_;
  RankCounters* ranks_;
  SharedWaiting waiting_;
  std::vector<const std::byte*> sources_;  // of a sum, by rank
  std::int64_t sequence_ = 0;              // of this rank's collectives
  std::uint64_t pieces_ = 0;               // of all collectives before the one under way
};

}  // namespace trainx::comm
