#include "kernels/attention/hopper/hopper_attention.hpp"
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>
#include <utility>
#include "kernels/attention/hopper/backward.cuh"
#include "kernels/attention/hopper/forward.cuh"
#include "kernels/attention/hopper/row_statistics.cuh"
#include "kernels/attention/hopper/spans.cuh"
#include "kernels/hopper/device.hpp"

namespace trainx::kernels::hopper {

namespace {

constexpr double log2_of_e = 1.4426950408889634;

double scale_of(const Size& size) {
  return size.scale > 0 ? size.scale : 1 / std::sqrt(static_cast<double>(size.head_size));
}

/// A window as long as the row hides nothing: it becomes 0, so that faster kernels compute it.
Spans spans_of(const std::int32_t* starts, const Size& size) {
  return {starts, static_cast<int>(size.window < size.tokens ? size.window : 0),
          static_cast<int>(size.tokens)};
}

Seen seen_of(const Spans& spans, const std::int32_t* lengths) {
  return lengths ? Seen::lengths : spans.is_whole() ? Seen::whole : Seen::spans;
}

bool is_empty(const Size& size) { return size.batch * size.tokens * size.heads == 0; }

/// What work is cut for: columns of boxes past a head's are read as zeros and not written.
int cut_head(const Size& size) { return size.head_size <= 64 ? 64 : 128; }

// Coordinates and block counts are 32 bits.
bool fits(const Size& size) {
  return size.head_size > 0 && size.head_size <= 128 && size.head_size % 8 == 0 &&
         (!size.dropped || cut_head(size) == 64) && size.key_value_heads >= 0 &&
         (is_empty(size) || size.heads % size.of_keys() == 0) && size.batch >= 0 &&
         size.tokens >= 0 && size.heads >= 0 && size.tokens < (1 << 24) && size.window >= 0 &&
         (size.causal || size.window == 0) &&
         size.batch * size.heads * (size.tokens + 128) / 64 < (std::int64_t{1} << 31);
}

template <class Kernel, class Arguments>
cudaError_t launch(Kernel* kernel, int blocks, int threads, int shared_bytes,
                   const Arguments& arguments, cudaStream_t stream) {
  // all of the L1 cache as shared memory, or two blocks may find no room side by side
  for (const auto& [attribute, value] :
       {std::pair{cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes},
        std::pair{cudaFuncAttributePreferredSharedMemoryCarveout,
                  static_cast<int>(cudaSharedmemCarveoutMaxShared)}})
    if (const cudaError_t error = cudaFuncSetAttribute(kernel, attribute, value);
        error != cudaSuccess)
      return error;
  kernel<<<static_cast<unsigned>(blocks), threads, shared_bytes, stream>>>(arguments);
  return cudaGetLastError();
}

template <int Head>
cudaError_t forward_of(const Forward& pass, const Size& size, cudaStream_t stream) {
  using Cut = ForwardCut<Head>;
  ForwardArguments a{};
  for (const cudaError_t error :
       {make_map(a.query, pass.query, size), make_map(a.key, pass.key, size, size.of_keys()),
        make_map(a.value, pass.value, size, size.of_keys()), make_map(a.out, pass.out, size)})
    if (error != cudaSuccess) return error;
  a.lse = pass.lse;
  a.tokens = static_cast<int>(size.tokens), a.heads = static_cast<int>(size.heads);
  a.rows = static_cast<int>(size.batch * size.heads);
  a.group_heads = static_cast<int>(size.heads / size.of_keys());
  a.query_tiles = (a.tokens + Cut::queries - 1) / Cut::queries;
  // a third of Hopper's L2 cache: other heads' tiles pass through it too
  constexpr std::int64_t together_bytes = 16 << 20;
  a.rows_together = static_cast<int>(
      std::clamp<std::int64_t>(together_bytes / (size.tokens * Head * 4), 1, a.rows));
  a.causal = size.causal;
  a.scale = static_cast<float>(scale_of(size) * log2_of_e);
  a.spans = spans_of(pass.starts, size);
  a.lengths = pass.lengths;
  a.sinks = pass.sinks;
  a.dropout = pass.dropout;
  const Seen seen = seen_of(a.spans, a.lengths);
  const auto start = [&](auto drops) {
    constexpr bool Drops = decltype(drops)::value;
    return launch(seen == Seen::whole   ? forward_kernel<Head, Seen::whole, Drops>
                  : seen == Seen::spans ? forward_kernel<Head, Seen::spans, Drops>
                                        : forward_kernel<Head, Seen::lengths, Drops>,
                  a.rows * a.query_tiles, Cut::threads, Cut::shared_bytes, a, stream);
  };
  if constexpr (Head == 64)
    if (size.dropped) return start(std::true_type{});
  return start(std::false_type{});
}

// Parts of backward's workspace: row statistics, partial query gradients, turns and the next item,
// first keys of tiles of queries and ends of queries of tiles of keys.
struct Workspace {
  std::int64_t query_tiles, key_tiles, tiles;
  std::size_t partial_at, turns_at, first_keys_at, query_ends_at, bytes;
  explicit Workspace(const Size& size)
      : query_tiles((size.tokens + tile_queries - 1) / tile_queries),
        key_tiles((size.tokens + tile_keys - 1) / tile_keys),
        tiles(size.batch * size.heads * query_tiles),
        partial_at(static_cast<std::size_t>(tiles) * query_numbers(size.dropped) * tile_queries *
                   sizeof(float)),
        turns_at(partial_at +
                 static_cast<std::size_t>(tiles * cut_head(size)) * tile_queries * sizeof(float)),
        first_keys_at(turns_at + static_cast<std::size_t>(tiles + 1) * sizeof(int)),
        query_ends_at(first_keys_at +
                      static_cast<std::size_t>(size.batch * query_tiles) * sizeof(int)),
        bytes(query_ends_at + static_cast<std::size_t>(size.batch * key_tiles) * sizeof(int)) {}
};

bool can_sum(const Backward& pass, const Size& size) {
  return size.head_size == 64 && !pass.starts && !pass.lengths && size.of_keys() == size.heads &&
         (size.window == 0 || size.window >= size.tokens);
}

template <int Head>
cudaError_t backward_of(const Backward& pass, const Size& size, cudaStream_t stream) {
  using Cut = BackwardCut<Head>;
  const std::int64_t of_keys = size.of_keys();
  BackwardArguments a{};
  for (const cudaError_t error :
       {make_map(a.query, pass.query, size), make_map(a.key, pass.key, size, of_keys),
        make_map(a.value, pass.value, size, of_keys), make_map(a.d_out, pass.d_out, size),
        make_map(a.d_query, pass.d_query, size), make_map(a.d_key, pass.d_key, size, of_keys),
        make_map(a.d_value, pass.d_value, size, of_keys)})
    if (error != cudaSuccess) return error;
  const Workspace room(size);
  unsigned char* const workspace = static_cast<unsigned char*>(pass.workspace);
  a.statistics = reinterpret_cast<float*>(workspace);
  a.partial = reinterpret_cast<float*>(workspace + room.partial_at);
  a.turns = reinterpret_cast<int*>(workspace + room.turns_at);
  a.next_item = a.turns + room.tiles;
  a.tokens = static_cast<int>(size.tokens), a.heads = static_cast<int>(size.heads);
  a.key_heads = static_cast<int>(of_keys);
  a.query_tiles = static_cast<int>(room.query_tiles);
  a.key_tiles = (a.tokens + Cut::keys - 1) / Cut::keys;
  a.items = static_cast<int>(size.batch) * a.key_heads * a.key_tiles;
  a.causal = size.causal;
  a.scale = static_cast<float>(scale_of(size));
  a.scale_log2 = static_cast<float>(scale_of(size) * log2_of_e);
  int device = 0, multiprocessors = 0;
  for (const cudaError_t error :
       {cudaGetDevice(&device),
        cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device)})
    if (error != cudaSuccess) return error;
  // Two items each. Rows that begin with their first keys wait for each other at first, which
  // costs little while there are others: where there are few rows, half of them.
  const int rows = a.items / a.key_tiles,
            two_each = (2 * multiprocessors + a.key_tiles - 1) / a.key_tiles;
  if (a.causal && a.items > multiprocessors) a.last_rows = two_each < rows ? two_each : rows / 2;
  a.spans = spans_of(pass.starts, size);
  a.lengths = pass.lengths;
  a.dropout = pass.dropout;
  a.query_sums = pass.query_sums, a.key_value_sums = pass.key_value_sums;
  const Seen seen = seen_of(a.spans, a.lengths);
  const int batch = static_cast<int>(size.batch);
  if (seen == Seen::spans) {
    int* const first_keys = reinterpret_cast<int*>(workspace + room.first_keys_at);
    int* const query_ends = reinterpret_cast<int*>(workspace + room.query_ends_at);
    note_spans<<<static_cast<unsigned>((batch * a.query_tiles + 255) / 256), 256, 0, stream>>>(
        a.spans, batch, a.query_tiles, a.key_tiles, first_keys, query_ends);
    if (const cudaError_t error = cudaGetLastError(); error != cudaSuccess) return error;
    a.first_key_tiles = first_keys, a.query_ends = query_ends;
  }
  const std::int64_t threads = Head / 8 * room.tiles * tile_queries;
  row_statistics<Head><<<static_cast<unsigned>((threads + 255) / 256), 256, 0, stream>>>(
      pass.out, pass.d_out, pass.lse, a.statistics, a.turns, pass.delta, batch, a.tokens, a.heads,
      static_cast<int>(size.head_size), a.query_tiles, a.spans, a.lengths, a.dropout);
  if (const cudaError_t error = cudaGetLastError(); error != cudaSuccess) return error;
  const int blocks = Cut::takes_items ? std::min(a.items, multiprocessors) : a.items;
  const auto start = [&](auto drops) {
    constexpr bool Drops = decltype(drops)::value;
    return launch(seen == Seen::whole   ? backward_kernel<Head, Seen::whole, Drops>
                  : seen == Seen::spans ? backward_kernel<Head, Seen::spans, Drops>
                                        : backward_kernel<Head, Seen::lengths, Drops>,
                  blocks, Cut::threads, Cut::shared_bytes, a, stream);
  };
  if constexpr (Head == 64)
    if (size.dropped) return start(std::true_type{});
  return start(std::false_type{});
}

}  // namespace

bool is_supported(const Size& size) { return fits(size) && is_hopper(); }

namespace {

template <class Pass>
bool is_possible(const Pass& pass, const Size& size) {
  return is_supported(size) && !(size.causal ? pass.lengths : pass.starts) &&
         size.dropped == (pass.dropout.positions != nullptr);
}

}  // namespace

cudaError_t attention_forward(const Forward& pass, const Size& size, cudaStream_t stream) {
  if (!is_possible(pass, size)) return cudaErrorNotSupported;
  if (is_empty(size)) return cudaSuccess;
  return cut_head(size) == 64 ? forward_of<64>(pass, size, stream)
                              : forward_of<128>(pass, size, stream);
}

std::int64_t query_slabs(const Size& size) { return size.batch * Workspace(size).query_tiles; }
std::int64_t key_slabs(const Size& size) {
  return size.batch * Workspace(size).key_tiles * warps_of_keys;
}

std::size_t workspace_bytes(const Size& size) { return Workspace(size).bytes; }

cudaError_t attention_backward(const Backward& pass, const Size& size, cudaStream_t stream) {
  if (!is_possible(pass, size)) return cudaErrorNotSupported;
  if ((pass.query_sums || pass.key_value_sums) && !can_sum(pass, size))
    return cudaErrorNotSupported;
  if (is_empty(size)) return cudaSuccess;
  return cut_head(size) == 64 ? backward_of<64>(pass, size, stream)
                              : backward_of<128>(pass, size, stream);
}

cudaError_t watch_waits([[maybe_unused]] std::uint32_t* mapped_words) {
#ifdef TRAINX_CHECK_WAITS
  return cudaMemcpyToSymbol(wait_report, &mapped_words, sizeof mapped_words);
#else
  return cudaErrorNotSupported;
#endif
}

}  // namespace trainx::kernels::hopper
