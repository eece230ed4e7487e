// Checks of the parts that the Hopper attention is made of, each by itself: copies of boxes, every
// arrangement of operands of a product, moves between registers and boxes. Operands are small whole
// numbers, so that results are exact. A product that fails is tried with other offsets, and those
// that give the right result are printed.
#pragma once
#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>
#include "bench/hopper_attention/harness.hpp"
#include "kernels/attention/hopper/head_box.cuh"
#include "kernels/hopper/products.cuh"

namespace trainx::bench {

namespace parts {

using namespace hopper;

constexpr int place = 64;  // rows of a box

struct Maps {
  CUtensorMap a, b, out;
};

__device__ inline std::uint32_t aligned(unsigned char* memory) {
  return (shared_address(memory) + atom_bytes - 1) / atom_bytes * atom_bytes;
}

// One box in, its bytes out as they lie in shared memory, and back by the copy engine.
__global__ void copy_box(const __grid_constant__ Maps maps, int head, int token, int sample,
                         std::uint16_t* raw) {
  extern __shared__ unsigned char memory[];
  const std::uint32_t shared = aligned(memory), barrier = shared + box_bytes;
  if (threadIdx.x == 0) {
    init_barrier(barrier, 1);
    publish_barriers();
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    arrive_expecting(barrier, box_bytes);
    load_box(shared, maps.a, 0, head, token, sample, barrier);
  }
  wait(barrier, 0, Waiting::query);
  for (int i = threadIdx.x; i < box_bytes / 2; i += blockDim.x) {
    std::uint16_t value;
    asm volatile("ld.shared.u16 %0, [%1];" : "=h"(value) : "r"(shared + 2 * i));
    raw[i] = value;
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    store_box(maps.out, 0, head, token, sample, shared);
    commit_stores();
    wait_for_stores();
  }
}

enum class Way : int { rows_by_rows, weights_by_columns, columns_by_columns };

/// Offsets in bytes of a product that is tried.
struct Offsets {
  int leading, stride, step;
};

// One product of a warp group. rows_by_rows: A[64, 64 Panels] and B[N, 64 Panels] from boxes.
// weights_by_columns: A[64, 64] in registers and B[64, N] from boxes, transposed.
// columns_by_columns: A is the transpose of a box [64, 64]. Tried: by these offsets instead of
// the library's.
template <Way Kind, int N, int Panels, bool Tried>
__global__ void __launch_bounds__(128)
    multiply(const __grid_constant__ Maps maps, const float* a, float* d, Offsets offsets) {
  extern __shared__ unsigned char memory[];
  constexpr bool by_rows = Kind == Way::rows_by_rows;
  constexpr int b_panels = by_rows ? Panels : N / 64, b_boxes = by_rows ? N / 64 : 1,
                b_panel = b_boxes * box_bytes, b_bytes = b_panels * b_panel,
                a_panels = Kind == Way::weights_by_columns ? 0 : Panels;
  const std::uint32_t shared = aligned(memory), at_b = shared + a_panels * box_bytes,
                      barrier = at_b + b_bytes;
  const int thread = threadIdx.x, lane = thread % 32, row = thread / 32 * 16 + lane / 4;
  if (thread == 0) {
    init_barrier(barrier, 1);
    publish_barriers();
  }
  __syncthreads();
  if (thread == 0) {
    arrive_expecting(barrier, a_panels * box_bytes + b_bytes);
    for (int panel = 0; panel < a_panels; ++panel)
      load_box(shared + panel * box_bytes, maps.a, 64 * panel, 0, 0, 0, barrier);
    for (int panel = 0; panel < b_panels; ++panel)
      for (int box = 0; box < b_boxes; ++box)
        load_box(at_b + panel * b_panel + box * box_bytes, maps.b, 64 * panel, 0, 64 * box, 0,
                 barrier);
  }
  std::uint32_t weights[16] = {};
  if constexpr (Kind == Way::weights_by_columns)
    for (int i = 0; i < 16; ++i) {
      const float* from = a + (row + i % 2 * 8) * 64 + i / 4 * 16 + lane % 4 * 2 + i / 2 % 2 * 8;
      weights[i] = bf16_pair(from[0], from[1]);
    }
  wait(barrier, 0, Waiting::query);
  float sums[N / 2] = {};
  pin(sums), pin(weights);
  const auto of_a = [&](int at) {
    return further(operand(shared, offsets.leading, offsets.stride), at);
  };
  const auto of_b = [&](int at) {
    return further(operand(at_b, offsets.leading, offsets.stride), at);
  };
  begin_products();
  if constexpr (!Tried) {
    if constexpr (by_rows)
      hopper::rows_by_rows<Panels, N>(sums, shared, box_bytes, at_b, b_panel);
    else if constexpr (Kind == Way::weights_by_columns)
      hopper::weights_by_columns<4, N>(sums, weights, at_b, b_panel, true);
    else
      hopper::columns_by_columns<4>(sums, shared, at_b, true);
  } else {
#pragma unroll
    for (int panel = 0; panel < (by_rows ? Panels : 1); ++panel)
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        const int step = k * offsets.step;
        if constexpr (by_rows)
          Product<N>::shared(sums, of_a(panel * box_bytes + step), of_b(panel * b_panel + step),
                             true);
        else if constexpr (Kind == Way::weights_by_columns)
          Product<N>::registers(sums, weights + 4 * k, of_b(step), true);
        else
          Product<N>::template shared<1, 1>(sums, of_a(step), of_b(step), true);
      }
  }
  commit_products();
  wait_for_products<0>(sums);
  for (int i = 0; i < N / 2; ++i)
    d[(row + i / 2 % 2 * 8) * N + i / 4 * 8 + lane % 4 * 2 + i % 2] = sums[i];
}

// Numbers in the pattern of a product's sums, D[row, column] = a[row * 64 + column], by write_rows
// or write_columns into a box, and out of it by the copy engine.
__global__ void __launch_bounds__(128)
    write(const __grid_constant__ Maps maps, const float* a, bool as_columns) {
  extern __shared__ unsigned char memory[];
  const std::uint32_t shared = aligned(memory);
  const int thread = threadIdx.x, lane = thread % 32, row = thread / 32 * 16 + lane / 4;
  float sums[32];
  for (int i = 0; i < 32; ++i)
    sums[i] = a[(row + i / 2 % 2 * 8) * 64 + i / 4 * 8 + lane % 4 * 2 + i % 2];
  std::uint32_t rounded[16];
  as_weights<32>(rounded, sums);
  if (as_columns)
    write_columns(shared, rounded, thread);
  else
    write_rows(shared, box_bytes, rounded, thread);
  show_to_async_readers();
  __syncthreads();
  if (thread == 0) {
    store_box(maps.out, 0, 0, 0, 0, shared);
    commit_stores();
    wait_for_stores();
  }
}

inline std::vector<float> small_numbers(std::size_t count, int largest, std::uint64_t seed) {
  Random random(seed);
  std::vector<float> numbers(count);
  for (float& x : numbers) x = static_cast<float>(random.whole(-largest, largest));
  return numbers;
}
inline std::vector<Bf16> as_bf16(const std::vector<float>& from) {
  std::vector<Bf16> to(from.size());
  std::transform(from.begin(), from.end(), to.begin(), bf16);
  return to;
}

/// Map of one matrix of rows [rows, columns].
inline CUtensorMap matrix_map(Bf16* data, int rows, int columns) {
  Size size;
  size.batch = 1, size.tokens = rows, size.heads = 1, size.head_size = columns;
  CUtensorMap map;
  require(make_map(map, plain_rows(data, size), size), "make_map");
  return map;
}

inline void check_boxes(Checks& checks) {
  Size size;
  size.batch = 2, size.tokens = 100, size.heads = 3, size.head_size = 64;
  const std::size_t count = 2 * 100 * 3 * 64;
  const std::vector<float> numbers = small_numbers(count, 100, 1);
  Device<Bf16> in(as_bf16(numbers)), out(count);
  Device<std::uint16_t> raw(box_bytes / 2);
  Maps maps{};
  require(make_map(maps.a, plain_rows(in.get(), size), size), "make_map");
  require(make_map(maps.out, plain_rows(out.get(), size), size), "make_map");
  for (const int token : {0, 64}) {
    const int head = 2, sample = 1;
    raw.spoil(), out.spoil();
    copy_box<<<1, 128, box_bytes + 2 * atom_bytes>>>(maps, head, token, sample, raw.get());
    require(cudaGetLastError(), "copy_box");
    const std::vector<std::uint16_t> bytes = raw.host();
    const auto number = [&](int t, int h, int b, int d) {
      return t < 100 ? numbers[static_cast<std::size_t>(((b * 100 + t) * 3 + h) * 64 + d)] : 0.0f;
    };
    std::vector<double> expected(64 * 64);
    for (int r = 0; r < 64; ++r)
      for (int c = 0; c < 64; ++c)
        expected[static_cast<std::size_t>(r * 64 + c)] = number(token + r, head, sample, c);
    const auto at = [](std::size_t i) {
      return std::pair<long, long>(static_cast<long>(i / 64), static_cast<long>(i % 64));
    };
    const auto swizzled = [&](std::size_t i) {
      const int r = static_cast<int>(i / 64), c = static_cast<int>(i % 64);
      return trainx::kernels::widened(
          Bf16{bytes[static_cast<std::size_t>(chunk_at(r, c / 8) / 2 + c % 8)]});
    };
    const bool good = compare("box", expected, swizzled, 0, 0, 0, at).bad == 0;
    if (!good) {
      const auto plain = [&](std::size_t i) { return trainx::kernels::widened(Bf16{bytes[i]}); };
      std::printf("    without swizzle:\n");
      compare("plain box", expected, plain, 0, 0, 0, at);
    }
    checks.say(good, "box of 64 rows from token " + std::to_string(token) + " of 100, swizzled");
    const std::vector<Bf16> back = out.host();
    std::vector<double> kept(count);
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t t = i / 192 % 100, h = i / 64 % 3, b = i / 19200;
      const bool written = t >= static_cast<std::size_t>(token) &&
                           t < static_cast<std::size_t>(token) + 64 && h == 2 && b == 1;
      kept[i] = written ? numbers[i] : -1e9;
    }
    const auto stored = [&](std::size_t i) {
      return back[i].bits == 0xffff ? -1e9 : static_cast<double>(trainx::kernels::widened(back[i]));
    };
    checks.say(compare(
                   "stored box", kept, stored, 0, 0, 0,
                   [](std::size_t i) {
                     return std::pair<long, long>(static_cast<long>(i / 64),
                                                  static_cast<long>(i % 64));
                   }).bad == 0,
               "box stored from token " + std::to_string(token) + " of 100");
  }
}

template <Way Kind, int N, int Panels>
void check_product(Checks& checks, const char* name) {
  constexpr bool by_rows = Kind == Way::rows_by_rows;
  constexpr int K = by_rows ? 64 * Panels : 64, b_rows = by_rows ? N : 64,
                b_columns = by_rows ? K : N;
  const std::vector<float> a = small_numbers(64 * K, 3, 11),
                           b = small_numbers(static_cast<std::size_t>(b_rows * b_columns), 3, 12);
  Device<Bf16> of_a(as_bf16(a)), of_b(as_bf16(b));
  Device<float> floats(a), d(64 * N);
  Maps maps{};
  maps.a = matrix_map(of_a.get(), 64, K), maps.b = matrix_map(of_b.get(), b_rows, b_columns);
  std::vector<double> expected(64 * N);
  for (int m = 0; m < 64; ++m)
    for (int n = 0; n < N; ++n)
      for (int k = 0; k < K; ++k) {
        const int of_left = Kind == Way::columns_by_columns ? k * 64 + m : m * K + k,
                  of_right = by_rows ? n * K + k : k * N + n;
        expected[static_cast<std::size_t>(m * N + n)] += a[static_cast<std::size_t>(of_left)] *
                                                         b[static_cast<std::size_t>(of_right)];
      }
  constexpr int shared_bytes = (Panels + N / 64 * Panels) * box_bytes + 2 * atom_bytes;
  const auto kernel = multiply<Kind, N, Panels, false>, tried = multiply<Kind, N, Panels, true>;
  for (const auto each : {kernel, tried})
    require(cudaFuncSetAttribute(each, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes),
            "shared memory");
  const auto at = [](std::size_t i) {
    return std::pair<long, long>(static_cast<long>(i / N), static_cast<long>(i % N));
  };
  const auto run = [&](auto of, Offsets offsets) {
    d.spoil();
    of<<<1, 128, shared_bytes>>>(maps, floats.get(), d.get(), offsets);
    require(cudaGetLastError(), name);
    return d.host();
  };
  const std::vector<float> found = run(kernel, {});
  const bool good = compare(
                        name, expected, [&](std::size_t i) { return found[i]; }, 0, 0, 0, at)
                        .bad == 0;
  checks.say(good, name);
  if (good) return;
  const int panel = by_rows ? N / 64 * box_bytes : box_bytes;
  for (const int leading : {16, 128, 1024, 2048, panel})
    for (const int stride : {16, 128, 1024, 2048, panel})
      for (const int step : {32, 256, 1024, 2048, 4096}) {
        const std::vector<float> other = run(tried, {leading, stride, step});
        const bool right = std::equal(other.begin(), other.end(), expected.begin(),
                                      [](float x, double y) { return x == y; });
        if (right)
          std::printf("    right with leading %d, stride %d, step %d bytes\n", leading, stride,
                      step);
      }
}

inline void check_products(Checks& checks) {
  check_product<Way::rows_by_rows, 64, 1>(checks, "A[64, 64] B[64, 64]^T, both from boxes");
  check_product<Way::rows_by_rows, 128, 1>(checks, "A[64, 64] B[128, 64]^T, both from boxes");
  check_product<Way::rows_by_rows, 64, 2>(checks, "A[64, 128] B[64, 128]^T, of two panels");
  check_product<Way::rows_by_rows, 128, 2>(checks, "A[64, 128] B[128, 128]^T, of two panels");
  check_product<Way::weights_by_columns, 64, 1>(checks, "A in registers, B[64, 64] transposed");
  check_product<Way::weights_by_columns, 128, 1>(checks, "A in registers, B[64, 128] transposed");
  check_product<Way::columns_by_columns, 64, 1>(checks, "A a transposed box, B[64, 64] transposed");
}

inline void check_moves(Checks& checks) {
  const std::vector<float> numbers = small_numbers(64 * 64, 100, 21);
  Device<float> from(numbers);
  Device<Bf16> out(64 * 64);
  Maps maps{};
  maps.out = matrix_map(out.get(), 64, 64);
  for (const bool as_columns : {false, true}) {
    out.spoil();
    write<<<1, 128, box_bytes + atom_bytes>>>(maps, from.get(), as_columns);
    require(cudaGetLastError(), "write");
    const std::vector<Bf16> found = out.host();
    std::vector<double> expected(64 * 64);
    for (std::size_t r = 0; r < 64; ++r)
      for (std::size_t c = 0; c < 64; ++c)
        expected[r * 64 + c] = numbers[as_columns ? c * 64 + r : r * 64 + c];
    const bool good =
        compare(
            "written box", expected,
            [&](std::size_t i) { return trainx::kernels::widened(found[i]); }, 0, 0, 0,
            [](std::size_t i) {
              return std::pair<long, long>(static_cast<long>(i / 64), static_cast<long>(i % 64));
            })
            .bad == 0;
    checks.say(good, as_columns ? "registers to a box, transposed" : "registers to a box");
  }
}

}  // namespace parts

}  // namespace trainx::bench
