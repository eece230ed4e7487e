#include "comm/shared_memory_communicator.hpp"
#include "core/error.hpp"
#include "comm/parts.hpp"
#include "comm/sums.hpp"
#include "comm/copy_bytes.hpp"
#include <vector>

namespace trainx::comm {
namespace {

// small enough to be in the second cache when they are read again
constexpr std::int64_t piece_bytes = 512 << 10, box_bytes = 256 << 10;
constexpr std::uint64_t slots = 4, box_slots = 2;

std::int64_t pieces_of(std::int64_t bytes, std::int64_t each) {
  return std::max<std::int64_t>(1, (bytes + each - 1) / each);
}

}  // namespace

/// A pair's letter box.
struct alignas(128) SharedMemoryCommunicator::Box {
  std::atomic<std::uint64_t> sent;
  Call call[box_slots];  // of the piece that lies there
  alignas(64) std::atomic<std::uint64_t> taken;
};

/// Offsets into the segment. Pages that nobody touches take no memory.
struct SharedMemoryCommunicator::Layout {
  std::int64_t calls, boxes, slots_begin, box_slots_begin, end;
  explicit Layout(std::int64_t ranks) {
    const auto aligned = [](std::int64_t x) { return (x + 4095) / 4096 * 4096; };
    calls = aligned(ranks * static_cast<std::int64_t>(sizeof(RankCounters)));
    boxes = aligned(calls + ranks * static_cast<std::int64_t>(slots * sizeof(Call)));
    slots_begin = aligned(boxes + ranks * ranks * static_cast<std::int64_t>(sizeof(Box)));
    box_slots_begin = slots_begin + ranks * static_cast<std::int64_t>(slots) * piece_bytes;
    end = box_slots_begin + ranks * ranks * static_cast<std::int64_t>(box_slots) * box_bytes;
  }
};

std::unique_ptr<Communicator> SharedMemoryCommunicator::make(Control& control, std::string& why) {
  auto segment =
      SharedSegment::make(control, static_cast<std::size_t>(Layout(control.world_size()).end), why);
  if (!segment) return nullptr;
  return std::unique_ptr<Communicator>(new SharedMemoryCommunicator(control, std::move(*segment)));
}

SharedMemoryCommunicator::SharedMemoryCommunicator(Control& control, SharedSegment segment)
    : control_(control),
      segment_(std::move(segment)),
      ranks_(reinterpret_cast<RankCounters*>(segment_.data())),
      waiting_(control, ranks_),
      sources_(static_cast<std::size_t>(control.world_size())) {}

std::byte* SharedMemoryCommunicator::slot(int rank, std::int64_t piece) const {
  const std::uint64_t index = static_cast<std::uint64_t>(rank) * slots +
                              (pieces_ + static_cast<std::uint64_t>(piece)) % slots;
  return segment_.data() + Layout(size()).slots_begin +
         static_cast<std::int64_t>(index) * piece_bytes;
}

Call& SharedMemoryCommunicator::call_of(int rank, std::uint64_t piece) const {
  return reinterpret_cast<Call*>(
      segment_.data() +
      Layout(size()).calls)[static_cast<std::uint64_t>(rank) * slots + piece % slots];
}

SharedMemoryCommunicator::Box& SharedMemoryCommunicator::box(int from, int to) const {
  return reinterpret_cast<Box*>(segment_.data() + Layout(size()).boxes)[from * size() + to];
}

std::byte* SharedMemoryCommunicator::box_slot(int from, int to, std::uint64_t piece) const {
  const std::int64_t index = static_cast<std::int64_t>(from * size() + to) *
                                 static_cast<std::int64_t>(box_slots) +
                             static_cast<std::int64_t>(piece % box_slots);
  return segment_.data() + Layout(size()).box_slots_begin + index * box_bytes;
}

void SharedMemoryCommunicator::await(std::atomic<std::uint64_t> RankCounters::*counter,
                                     std::uint64_t value) {
  for (int r = 0; r < size(); ++r)
    waiting_.until([&] { return (ranks_[r].*counter).load(std::memory_order_acquire) >= value; });
}

void SharedMemoryCommunicator::check_calls(std::uint64_t piece) {
  std::vector<Call> calls;
  for (int r = 0; r < size(); ++r) calls.push_back(call_of(r, piece));
  check_same(control_, calls);
}

/// While the others work at one piece, this rank works at the next or the one before it: nobody
/// waits as long as all keep pace.
void SharedMemoryCommunicator::run(CallKind kind, std::int64_t bytes, DType dtype, int root,
                                   std::int64_t pieces, const Stages& stages) {
  if (control_.failed()) control_.throw_failure();
  RankCounters& mine = ranks_[rank()];
  const Call call{++sequence_, bytes, kind, static_cast<std::int32_t>(dtype), root};
  for (std::int64_t i = 0; i < pieces + 2; ++i) {
    if (i < pieces) {
      const std::uint64_t piece = pieces_ + static_cast<std::uint64_t>(i);
      // the slot's former piece
      if (piece >= slots) await(&RankCounters::taken, piece - slots + 1);
      if (i == 0) call_of(rank(), piece) = call;
      stages.put(i);
      waiting_.publish(mine.written, piece + 1);
    }
    if (const std::int64_t k = i - 1; k >= 0 && k < pieces) {
      const std::uint64_t piece = pieces_ + static_cast<std::uint64_t>(k);
      await(&RankCounters::written, piece + 1);
      if (k == 0) check_calls(piece);
      stages.sum(k);
      waiting_.publish(mine.summed, piece + 1);
    }
    if (const std::int64_t k = i - 2; k >= 0) {
      const std::uint64_t piece = pieces_ + static_cast<std::uint64_t>(k);
      if (stages.gather_awaits_sums) await(&RankCounters::summed, piece + 1);
      stages.gather(k);
      waiting_.publish(mine.taken, piece + 1);
      ++control_.progress().done;
    }
  }
  pieces_ += static_cast<std::uint64_t>(pieces);
}

/// all_reduce, and reduce, where only the root takes the sums.
void SharedMemoryCommunicator::sum_to(std::byte* data, std::int64_t elements, DType dtype,
                                      CallKind kind, int root) {
  const std::int64_t width = size_of(dtype), bytes = elements * width,
                     per_piece = piece_bytes / width;
  const bool takes = kind == CallKind::all_reduce || rank() == root, whole = bytes <= whole_bytes;
  const auto size_of_piece = [&](std::int64_t k) {
    return std::min(per_piece, elements - k * per_piece);
  };
  const auto sum = [&](std::int64_t k, ElementPart part, std::byte* to) {
    for (int r = 0; r < size(); ++r)
      sources_[r] = r == rank() ? data + (k * per_piece + part.begin) * width
                                : slot(r, k) + part.begin * width;
    sum_parts(to, sources_, part.size, dtype);
  };
  Stages stages;
  stages.gather_awaits_sums = !whole && takes;
  stages.put = [&](std::int64_t k) {
    const std::byte* piece = data + k * per_piece * width;
    const std::int64_t n = size_of_piece(k);
    // one's own part is summed from where it is
    const ElementPart mine = whole ? ElementPart{n, 0} : part_of(n, rank(), size(), width);
    copy_bytes(slot(rank(), k), piece, static_cast<std::size_t>(mine.begin * width));
    const std::int64_t after = (mine.begin + mine.size) * width;
    copy_bytes(slot(rank(), k) + after, piece + after, static_cast<std::size_t>(n * width - after));
  };
  stages.sum = [&](std::int64_t k) {
    const std::int64_t n = size_of_piece(k);
    if (whole) return takes ? sum(k, {0, n}, data) : void();
    const ElementPart part = part_of(n, rank(), size(), width);
    sum(k, part, slot(rank(), k) + part.begin * width);
  };
  stages.gather = [&](std::int64_t k) {
    if (whole || !takes) return;
    for (int r = 0; r < size(); ++r) {
      const ElementPart part = part_of(size_of_piece(k), r, size(), width);
      copy_bytes(data + (k * per_piece + part.begin) * width, slot(r, k) + part.begin * width,
                 static_cast<std::size_t>(part.size * width));
    }
  };
  run(kind, bytes, dtype, root, pieces_of(bytes, per_piece * width), stages);
}

void SharedMemoryCommunicator::all_reduce(std::byte* data, std::int64_t elements, DType dtype) {
  sum_to(data, elements, dtype, CallKind::all_reduce, 0);
}
void SharedMemoryCommunicator::reduce(std::byte* data, std::int64_t elements, DType dtype,
                                      int root) {
  sum_to(data, elements, dtype, CallKind::reduce, root);
}

void SharedMemoryCommunicator::broadcast(std::byte* data, std::int64_t bytes, int root) {
  const auto copy = [&](std::int64_t k, bool in) {
    const auto n = static_cast<std::size_t>(std::min(piece_bytes, bytes - k * piece_bytes));
    if (in)
      copy_bytes(slot(root, k), data + k * piece_bytes, n);
    else
      copy_bytes(data + k * piece_bytes, slot(root, k), n);
  };
  Stages stages{.put =
                    [&](std::int64_t k) {
                      if (rank() == root) copy(k, true);
                    },
                .sum = [](std::int64_t) {},
                .gather =
                    [&](std::int64_t k) {
                      if (rank() != root) copy(k, false);
                    },
                .gather_awaits_sums = false};
  run(CallKind::broadcast, bytes, DType::u8, root, pieces_of(bytes, piece_bytes), stages);
}

void SharedMemoryCommunicator::reduce_scatter(const std::byte* full, std::byte* shard,
                                              std::int64_t shard_elements, DType dtype) {
  // of each rank's shard
  const std::int64_t width = size_of(dtype),
                     per_piece = std::max<std::int64_t>(64, piece_bytes / size() / 64 * 64) / width;
  const auto size_of_piece = [&](std::int64_t k) {
    return std::min(per_piece, shard_elements - k * per_piece);
  };
  const auto own = [&](std::int64_t k, int of) {
    return full + (of * shard_elements + k * per_piece) * width;
  };
  Stages stages;
  stages.put = [&](std::int64_t k) {
    for (int r = 0; r < size(); ++r)
      if (r != rank())
        copy_bytes(slot(rank(), k) + r * per_piece * width, own(k, r),
                   static_cast<std::size_t>(size_of_piece(k) * width));
  };
  stages.sum = [&](std::int64_t k) {
    for (int r = 0; r < size(); ++r)
      sources_[r] = r == rank() ? own(k, r) : slot(r, k) + rank() * per_piece * width;
    sum_parts(shard + k * per_piece * width, sources_, size_of_piece(k), dtype);
  };
  stages.gather = [](std::int64_t) {};
  stages.gather_awaits_sums = false;
  run(CallKind::reduce_scatter, shard_elements * width, dtype, 0,
      pieces_of(shard_elements, per_piece), stages);
}

void SharedMemoryCommunicator::all_gather(const std::byte* shard, std::byte* full,
                                          std::int64_t shard_bytes) {
  const auto size_of_piece = [&](std::int64_t k) {
    return static_cast<std::size_t>(std::min(piece_bytes, shard_bytes - k * piece_bytes));
  };
  Stages stages;
  stages.put = [&](std::int64_t k) {
    copy_bytes(slot(rank(), k), shard + k * piece_bytes, size_of_piece(k));
  };
  stages.sum = [](std::int64_t) {};
  stages.gather = [&](std::int64_t k) {
    for (int r = 0; r < size(); ++r)
      copy_bytes(full + r * shard_bytes + k * piece_bytes, slot(r, k), size_of_piece(k));
  };
  stages.gather_awaits_sums = false;
  run(CallKind::all_gather, shard_bytes, DType::u8, 0, pieces_of(shard_bytes, piece_bytes), stages);
}

void SharedMemoryCommunicator::all_to_all(const std::byte* out, std::byte* in,
                                          std::int64_t slot_bytes) {
  // of each rank's slot
  const std::int64_t per_piece = std::max<std::int64_t>(64, piece_bytes / size() / 64 * 64);
  const auto size_of_piece = [&](std::int64_t k) {
    return static_cast<std::size_t>(std::min(per_piece, slot_bytes - k * per_piece));
  };
  Stages stages;
  stages.put = [&](std::int64_t k) {
    for (int r = 0; r < size(); ++r)
      copy_bytes(
          r == rank() ? in + r * slot_bytes + k * per_piece : slot(rank(), k) + r * per_piece,
          out + r * slot_bytes + k * per_piece, size_of_piece(k));
  };
  stages.sum = [](std::int64_t) {};
  stages.gather = [&](std::int64_t k) {
    for (int r = 0; r < size(); ++r)
      if (r != rank())
        copy_bytes(in + r * slot_bytes + k * per_piece, slot(r, k) + rank() * per_piece,
                   size_of_piece(k));
  };
  stages.gather_awaits_sums = false;
  run(CallKind::all_to_all, slot_bytes, DType::u8, 0, pieces_of(slot_bytes, per_piece), stages);
}

void SharedMemoryCommunicator::send(const std::byte* data, std::int64_t bytes, int to) {
  if (control_.failed()) control_.throw_failure();
  Box& b = box(rank(), to);
  for (std::int64_t k = 0; k < pieces_of(bytes, box_bytes); ++k) {
    const std::uint64_t piece = b.sent.load(std::memory_order_relaxed);
    waiting_.until([&] { return b.taken.load(std::memory_order_acquire) + box_slots > piece; });
    b.call[piece % box_slots] = {0, bytes, CallKind::send, 0, to};
    copy_bytes(box_slot(rank(), to, piece), data + k * box_bytes,
               static_cast<std::size_t>(std::min(box_bytes, bytes - k * box_bytes)));
    waiting_.publish(b.sent, piece + 1, to);
    ++control_.progress().done;
  }
}

void SharedMemoryCommunicator::recv(std::byte* data, std::int64_t bytes, int from) {
  if (control_.failed()) control_.throw_failure();
  Box& b = box(from, rank());
  for (std::int64_t k = 0; k < pieces_of(bytes, box_bytes); ++k) {
    const std::uint64_t piece = b.taken.load(std::memory_order_relaxed);
    waiting_.until([&] { return b.sent.load(std::memory_order_acquire) > piece; });
    check_received(control_, rank(), bytes, from, b.call[piece % box_slots]);
    copy_bytes(data + k * box_bytes, box_slot(from, rank(), piece),
               static_cast<std::size_t>(std::min(box_bytes, bytes - k * box_bytes)));
    waiting_.publish(b.taken, piece + 1, from);
    ++control_.progress().done;
  }
}

}  // namespace trainx::comm
