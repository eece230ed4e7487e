// Products of 64 rows by a warp group (PTX ISA, "wgmma.mma_async"): D[64, N] (+)= A[64, 16] B[16,
// N], bf16 operands and fp32 sums, asynchronous to the threads that issue them.
//
// D in registers: warp w of the group has rows 16 w to 16 w + 15; of these a thread has in d[4 n],
// d[4 n + 1] row lane / 4, columns 8 n + 2 (lane % 4) and one more, and in d[4 n + 2], d[4 n + 3]
// the same eight rows below. A in registers: the same pattern of 16 columns, pairs rounded to bf16
// and packed, so that D of one product becomes A of the next without moving between threads.
//
// In shared memory operands are boxes (box.cuh). "K-major": a row of the box is a row of A or a
// column of B, and its elements are summed over. "Transposed" (MN-major): the rows of the box are
// summed over.
#pragma once
#include <cuda_runtime_api.h>
#include <cstdint>
#include <type_traits>
#include "kernels/hopper/box.cuh"
#include "kernels/hopper/values.cuh"

namespace trainx::kernels::hopper {

/// Matrix descriptor (PTX ISA, "Matrix Descriptor Format"): bits 0-13 address, 16-29 leading and
/// 32-45 stride byte offset, all without their lowest 4 bits, 62-63 swizzle (1: of 128 bytes).
using Operand = std::uint64_t;

/// Byte offsets of both arrangements, from the canonical layouts of the PTX ISA
/// ("Strides"): the stride leads to the next atom of 8 rows of a box; the leading offset is not
/// looked at when K-major, and leads to the next 64 columns of B when transposed.
constexpr int operand_stride = atom_bytes;
/// A product sums over 16 elements: 32 bytes of each row of a box, or 16 rows of it.
constexpr int k_major_step = 32, transposed_step = 16 * box_row_bytes;

__device__ __forceinline__ Operand operand(std::uint32_t shared, int leading_bytes,
                                           int stride_bytes = operand_stride) {
  return static_cast<Operand>((shared & 0x3ffff) >> 4) |
         static_cast<Operand>((leading_bytes >> 4) & 0x3fff) << 16 |
         static_cast<Operand>((stride_bytes >> 4) & 0x3fff) << 32 | Operand{1} << 62;
}
__device__ __forceinline__ Operand further(Operand from, int bytes) {
  return from + static_cast<Operand>(bytes >> 4);
}

/// Before the first product, and whenever registers of products were written by other code.
__device__ __forceinline__ void begin_products() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
/// Ends a batch of products.
__device__ __forceinline__ void commit_products() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
/// Keeps the compiler from moving uses of these registers across this line.
template <class T, int Count>
__device__ __forceinline__ void pin(T (&registers)[Count]) {
#pragma unroll
  for (int i = 0; i < Count; ++i) {
    if constexpr (std::is_same_v<T, float>)
      asm volatile("" : "+f"(registers[i])::"memory");
    else
      asm volatile("" : "+r"(registers[i])::"memory");
  }
}
/// Waits until at most `Pending` batches are under way; `done` are registers of finished ones.
template <int Pending, class... Registers>
__device__ __forceinline__ void wait_for_products(Registers&... done) {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(Pending) : "memory");
  (pin(done), ...);
}

/// `shared`: A K-major and B from shared memory. `registers`: A from registers. Without `add` the
/// old D does not count.
template <int N>
struct Product;

template <>
struct Product<64> {
  template <int TransposedA = 0, int TransposedB = 0>
  static __device__ __forceinline__ void shared(float (&d)[32], Operand a, Operand b, bool add) {
    asm volatile(
        "{\n"
        ".reg .pred p;\n"
        "setp.ne.b32 p, %34, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 "
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
        "%32, %33, p, 1, 1, %35, %36;\n"
        "}"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
          "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]),
          "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]),
          "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]),
          "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
        : "l"(a), "l"(b), "r"(static_cast<int>(add)), "n"(TransposedA), "n"(TransposedB));
  }
  /// The same without `add`. The old D is not an operand: it need not be kept.
  static __device__ __forceinline__ void first_shared(float (&d)[32], Operand a, Operand b) {
    asm volatile(
        "{\n"
        ".reg .pred p;\n"
        "setp.ne.b32 p, 0, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 "
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
        "%32, %33, p, 1, 1, 0, 0;\n"
        "}"
        : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3]), "=f"(d[4]), "=f"(d[5]), "=f"(d[6]),
          "=f"(d[7]), "=f"(d[8]), "=f"(d[9]), "=f"(d[10]), "=f"(d[11]), "=f"(d[12]), "=f"(d[13]),
          "=f"(d[14]), "=f"(d[15]), "=f"(d[16]), "=f"(d[17]), "=f"(d[18]), "=f"(d[19]), "=f"(d[20]),
          "=f"(d[21]), "=f"(d[22]), "=f"(d[23]), "=f"(d[24]), "=f"(d[25]), "=f"(d[26]), "=f"(d[27]),
          "=f"(d[28]), "=f"(d[29]), "=f"(d[30]), "=f"(d[31])
        : "l"(a), "l"(b));
  }
  template <int TransposedB = 1>
  static __device__ __forceinline__ void registers(float (&d)[32], const std::uint32_t* a,
                                                   Operand b, bool add) {
    asm volatile(
        "{\n"
        ".reg .pred p;\n"
        "setp.ne.b32 p, %37, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 "
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
        "{%32, %33, %34, %35}, %36, p, 1, 1, %38;\n"
        "}"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
          "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]),
          "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]),
          "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]),
          "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(static_cast<int>(add)),
          "n"(TransposedB));
  }
};

template <>
struct Product<128> {
  template <int TransposedA = 0, int TransposedB = 0>
  static __device__ __forceinline__ void shared(float (&d)[64], Operand a, Operand b, bool add) {
    asm volatile(
        "{\n"
        ".reg .pred p;\n"
        "setp.ne.b32 p, %66, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 "
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
        "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
        "%64, %65, p, 1, 1, %67, %68;\n"
        "}"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
          "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]),
          "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]),
          "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]),
          "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]),
          "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]),
          "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]),
          "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]),
          "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]),
          "+f"(d[63])
        : "l"(a), "l"(b), "r"(static_cast<int>(add)), "n"(TransposedA), "n"(TransposedB));
  }
  /// The same without `add`. The old D is not an operand: it need not be kept.
  static __device__ __forceinline__ void first_shared(float (&d)[64], Operand a, Operand b) {
    asm volatile(
        "{\n"
        ".reg .pred p;\n"
        "setp.ne.b32 p, 0, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 "
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
        "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
        "%64, %65, p, 1, 1, 0, 0;\n"
        "}"
        : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3]), "=f"(d[4]), "=f"(d[5]), "=f"(d[6]),
          "=f"(d[7]), "=f"(d[8]), "=f"(d[9]), "=f"(d[10]), "=f"(d[11]), "=f"(d[12]), "=f"(d[13]),
          "=f"(d[14]), "=f"(d[15]), "=f"(d[16]), "=f"(d[17]), "=f"(d[18]), "=f"(d[19]), "=f"(d[20]),
          "=f"(d[21]), "=f"(d[22]), "=f"(d[23]), "=f"(d[24]), "=f"(d[25]), "=f"(d[26]), "=f"(d[27]),
          "=f"(d[28]), "=f"(d[29]), "=f"(d[30]), "=f"(d[31]), "=f"(d[32]), "=f"(d[33]), "=f"(d[34]),
          "=f"(d[35]), "=f"(d[36]), "=f"(d[37]), "=f"(d[38]), "=f"(d[39]), "=f"(d[40]), "=f"(d[41]),
          "=f"(d[42]), "=f"(d[43]), "=f"(d[44]), "=f"(d[45]), "=f"(d[46]), "=f"(d[47]), "=f"(d[48]),
          "=f"(d[49]), "=f"(d[50]), "=f"(d[51]), "=f"(d[52]), "=f"(d[53]), "=f"(d[54]), "=f"(d[55]),
          "=f"(d[56]), "=f"(d[57]), "=f"(d[58]), "=f"(d[59]), "=f"(d[60]), "=f"(d[61]), "=f"(d[62]),
          "=f"(d[63])
        : "l"(a), "l"(b));
  }
  template <int TransposedB = 1>
  static __device__ __forceinline__ void registers(float (&d)[64], const std::uint32_t* a,
                                                   Operand b, bool add) {
    asm volatile(
        "{\n"
        ".reg .pred p;\n"
        "setp.ne.b32 p, %69, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 "
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
        "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
        "{%64, %65, %66, %67}, %68, p, 1, 1, %70;\n"
        "}"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
          "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]),
          "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]),
          "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]),
          "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]),
          "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]),
          "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]),
          "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]),
          "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]),
          "+f"(d[63])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(static_cast<int>(add)),
          "n"(TransposedB));
  }
};

/// d = A B^T, of K-major boxes: A[64, 64 Panels], B[N, 64 Panels], whose panels of 64 columns lie
/// `a_panel` and `b_panel` bytes apart.
template <int Panels, int N>
__device__ __forceinline__ void rows_by_rows(float (&d)[N / 2], std::uint32_t a, int a_panel,
                                             std::uint32_t b, int b_panel) {
  const Operand left = operand(a, 16), right = operand(b, 16);
#pragma unroll
  for (int panel = 0; panel < Panels; ++panel)
#pragma unroll
    for (int step = 0; step < box_row_bytes / k_major_step; ++step) {
      const Operand l = further(left, panel * a_panel + step * k_major_step),
                    r = further(right, panel * b_panel + step * k_major_step);
      if (panel + step == 0)
        Product<N>::first_shared(d, l, r);
      else
        Product<N>::shared(d, l, r, true);
    }
}

/// d (+)= A B, of A[64, 16 Steps] in registers and the transposed boxes B[16 Steps, N], whose
/// panels of 64 columns lie `b_panel` bytes apart.
template <int Steps, int N, int Count>
__device__ __forceinline__ void weights_by_columns(float (&d)[N / 2],
                                                   const std::uint32_t (&a)[Count], std::uint32_t b,
                                                   int b_panel, bool add) {
  static_assert(Count >= 4 * Steps);
  const Operand right = operand(b, b_panel);
#pragma unroll
  for (int step = 0; step < Steps; ++step)
    Product<N>::registers(d, a + 4 * step, further(right, step * transposed_step), add || step > 0);
}

/// d (+)= A B, of the transposed boxes A[16 Steps, 64]^T and B[16 Steps, 64].
template <int Steps>
__device__ __forceinline__ void columns_by_columns(float (&d)[32], std::uint32_t a, std::uint32_t b,
                                                   bool add) {
  const Operand left = operand(a, box_bytes), right = operand(b, box_bytes);
#pragma unroll
  for (int step = 0; step < Steps; ++step)
    Product<64>::shared<1, 1>(d, further(left, step * transposed_step),
                              further(right, step * transposed_step), add || step > 0);
}

/// D of products as A of others.
template <int Count>
__device__ __forceinline__ void as_weights(std::uint32_t (&a)[Count / 2], const float (&d)[Count]) {
#pragma unroll
  for (int i = 0; i < Count / 2; ++i) a[i] = bf16_pair(d[2 * i], d[2 * i + 1]);
}

/// Writes rows (`as_weights`) of this warp group into boxes of 64 rows whose panels of 64 columns
/// lie `panel` bytes apart, both aligned to atoms. `thread` counts in the warp group.
template <int Count>
__device__ __forceinline__ void write_rows(std::uint32_t box, int panel,
                                           const std::uint32_t (&rows)[Count], int thread) {
  const int lane = thread % 32, row = thread / 32 * 16 + lane % 16, side = lane / 16;
  const std::uint32_t at = box + chunk_at(row, side);
#pragma unroll
  for (int n = 0; n < Count / 2; n += 2)  // 8 columns each; a swizzled place by one operation
    store_matrices<false>((at + n / 8 * panel) ^ (n % 8 << 4), rows[2 * n], rows[2 * n + 1],
                          rows[2 * n + 2], rows[2 * n + 3]);
}

/// The same into a box whose rows are the columns of D[64, 8 * Count / 2].
template <int Count>
__device__ __forceinline__ void write_columns(std::uint32_t box, const std::uint32_t (&rows)[Count],
                                              int thread) {
  const int lane = thread % 32, row = lane / 16 * 8 + lane % 8,
            chunk = thread / 32 * 2 + lane / 8 % 2;
#pragma unroll
  for (int n = 0; n < Count / 2; n += 2)
    store_matrices<true>(box + chunk_at(8 * n + row, chunk), rows[2 * n], rows[2 * n + 1],
                         rows[2 * n + 2], rows[2 * n + 3]);
}

}  // namespace trainx::kernels::hopper
