#include "comm/tcp_communicator.hpp"
#include "comm/parts.hpp"
#include "comm/sums.hpp"
#include "comm/copy_bytes.hpp"

namespace trainx::comm {
namespace {

// of what is summed at a time: bounds the memory for what arrives
constexpr std::int64_t summed_piece_bytes = 4 << 20;

}  // namespace

TcpCommunicator::TcpCommunicator(Control& control)
    : control_(control),
      sockets_(control),
      sources_(static_cast<std::size_t>(control.world_size())) {}

Call TcpCommunicator::begin(CallKind kind, std::int64_t bytes, DType dtype, int root) {
  return {++sequence_, bytes, kind, static_cast<std::int32_t>(dtype), root};
}

std::vector<PeerSockets::Flow> TcpCommunicator::flows(const Call* call) const {
  return std::vector<PeerSockets::Flow>(static_cast<std::size_t>(size()),
                                        PeerSockets::Flow{.says = call, .hears = call});
}

void TcpCommunicator::transfer(std::vector<PeerSockets::Flow>& flows) {
  sockets_.transfer(flows);
  ++control_.progress().done;
}

std::byte* TcpCommunicator::received(int rank, std::int64_t each_bytes) {
  const auto stride = static_cast<std::size_t>((each_bytes + 63) / 64 * 64);
  if (received_.size() < stride * static_cast<std::size_t>(size()))
    received_.resize(stride * static_cast<std::size_t>(size()));
  return received_.data() + static_cast<std::size_t>(rank) * stride;
}

/// Little data: each that needs the sum gets all of it and sums it itself.
void TcpCommunicator::sum_whole(std::byte* data, std::int64_t elements, DType dtype,
                                const Call& call) {
  const std::int64_t bytes = elements * size_of(dtype);
  const auto takes = [&](int r) { return call.kind == CallKind::all_reduce || r == call.root; };
  auto f = flows(&call);
  received(0, bytes);  // all of it, before pointers into it are taken
  for (int r = 0; r < size(); ++r) {
    if (takes(r)) f[r].out = data, f[r].out_bytes = bytes;
    if (takes(rank())) f[r].in = received(r, bytes), f[r].in_bytes = bytes;
    sources_[r] = r == rank() ? data : received(r, bytes);
  }
  transfer(f);
  if (takes(rank())) sum_parts(data, sources_, elements, dtype);
}

/// Of each piece every rank sums its own part, which it gets from all, and sends the sum to those
/// that need it.
void TcpCommunicator::sum_to(std::byte* data, std::int64_t elements, DType dtype,
                             const Call& call) {
  const std::int64_t width = size_of(dtype), per_piece = summed_piece_bytes / width;
  if (elements * width <= whole_bytes) return sum_whole(data, elements, dtype, call);
  const auto takes = [&](int r) { return call.kind == CallKind::all_reduce || r == call.root; };
  std::vector<std::byte> sum;
  for (std::int64_t at = 0; at < elements; at += per_piece) {
    const std::int64_t n = std::min(per_piece, elements - at);
    std::byte* piece = data + at * width;
    const ElementPart mine = part_of(n, rank(), size(), width);
    auto f = flows(at == 0 ? &call : nullptr);
    received(0, mine.size * width);
    for (int r = 0; r < size(); ++r) {
      const ElementPart part = part_of(n, r, size(), width);
      f[r].out = piece + part.begin * width, f[r].out_bytes = part.size * width;
      f[r].in = received(r, mine.size * width), f[r].in_bytes = mine.size * width;
      sources_[r] = r == rank() ? piece + mine.begin * width : f[r].in;
    }
    transfer(f);
    sum.resize(static_cast<std::size_t>(mine.size * width));
    // where the data is to stay, the sum goes elsewhere
    std::byte* to = takes(rank()) ? piece + mine.begin * width : sum.data();
    sum_parts(to, sources_, mine.size, dtype);
    f = flows(nullptr);
    for (int r = 0; r < size(); ++r) {
      const ElementPart part = part_of(n, r, size(), width);
      if (takes(r)) f[r].out = to, f[r].out_bytes = mine.size * width;
      if (takes(rank())) f[r].in = piece + part.begin * width, f[r].in_bytes = part.size * width;
    }
    transfer(f);
  }
}

void TcpCommunicator::all_reduce(std::byte* data, std::int64_t elements, DType dtype) {
  sum_to(data, elements, dtype, begin(CallKind::all_reduce, elements * size_of(dtype), dtype, 0));
}

void TcpCommunicator::reduce(std::byte* data, std::int64_t elements, DType dtype, int root) {
  sum_to(data, elements, dtype, begin(CallKind::reduce, elements * size_of(dtype), dtype, root));
}

void TcpCommunicator::broadcast(std::byte* data, std::int64_t bytes, int root) {
  const Call call = begin(CallKind::broadcast, bytes, DType::u8, root);
  auto f = flows(&call);
  for (int r = 0; r < size(); ++r)
    if (rank() == root) f[r].out = data, f[r].out_bytes = bytes;
  if (rank() != root) f[root].in = data, f[root].in_bytes = bytes;
  transfer(f);
}

void TcpCommunicator::reduce_scatter(const std::byte* full, std::byte* shard,
                                     std::int64_t shard_elements, DType dtype) {
  const std::int64_t width = size_of(dtype),
                     per_piece = std::max<std::int64_t>(64, summed_piece_bytes / size()) / width;
  const Call call = begin(CallKind::reduce_scatter, shard_elements * width, dtype, 0);
  for (std::int64_t at = 0; at == 0 || at < shard_elements; at += per_piece) {
    const std::int64_t n = std::min(per_piece, shard_elements - at);
    auto f = flows(at == 0 ? &call : nullptr);
    received(0, n * width);
    for (int r = 0; r < size(); ++r) {
      f[r].out = full + (r * shard_elements + at) * width, f[r].out_bytes = n * width;
      f[r].in = received(r, n * width), f[r].in_bytes = n * width;
      sources_[r] = r == rank() ? f[r].out : f[r].in;
    }
    transfer(f);
    sum_parts(shard + at * width, sources_, n, dtype);
  }
}

void TcpCommunicator::all_gather(const std::byte* shard, std::byte* full,
                                 std::int64_t shard_bytes) {
  const Call call = begin(CallKind::all_gather, shard_bytes, DType::u8, 0);
  auto f = flows(&call);
  for (int r = 0; r < size(); ++r)
    f[r] = {.out = shard,
            .in = full + r * shard_bytes,
            .out_bytes = shard_bytes,
            .in_bytes = shard_bytes,
            .says = &call,
            .hears = &call};
  transfer(f);
  if (std::byte* own = full + rank() * shard_bytes; own != shard)
    copy_bytes(own, shard, static_cast<std::size_t>(shard_bytes));
}

void TcpCommunicator::all_to_all(const std::byte* out, std::byte* in, std::int64_t slot_bytes) {
  const Call call = begin(CallKind::all_to_all, slot_bytes, DType::u8, 0);
  auto f = flows(&call);
  for (int r = 0; r < size(); ++r)
    f[r] = {.out = out + r * slot_bytes,
            .in = in + r * slot_bytes,
            .out_bytes = slot_bytes,
            .in_bytes = slot_bytes,
            .says = &call,
            .hears = &call};
  transfer(f);
  copy_bytes(in + rank() * slot_bytes, out + rank() * slot_bytes,
             static_cast<std::size_t>(slot_bytes));
}

void TcpCommunicator::send(const std::byte* data, std::int64_t bytes, int to) {
  const Call call{0, bytes, CallKind::send, 0, to};
  auto f = flows(nullptr);
  f[to] = {.out = data, .out_bytes = bytes, .says = &call};
  transfer(f);
}

void TcpCommunicator::recv(std::byte* data, std::int64_t bytes, int from) {
  const Call call{0, bytes, CallKind::recv, 0, from};
  auto f = flows(nullptr);
  f[from] = {.in = data, .in_bytes = bytes, .hears = &call};
  transfer(f);
}

}  // namespace trainx::comm
