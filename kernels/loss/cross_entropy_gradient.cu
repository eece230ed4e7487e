#include "kernels/copy_async.cuh"
#include "kernels/fold.cuh"
#include "kernels/loss/cross_entropy.hpp"
#include "kernels/loss/cross_entropy_room.hpp"
#include "kernels/loss/cross_entropy_rows.cuh"

namespace trainx::kernels {
namespace {

constexpr int parts = 4;  // in which the slots are waited for

// What a kernel is compiled for: the loss of the logits themselves, of changed ones, and that with
// smoothing or z-loss.
enum class Form { plain, changes, terms };

struct Factors {
  ChangeFactors change;
  float smoothing, of_each, z_loss;  // of_each: smoothing / classes
};
Factors factors_of(const LossForm& f, std::int64_t classes) {
  return {factors_of(f.change), static_cast<float>(f.smoothing),
          static_cast<float>(f.smoothing / static_cast<double>(classes)),
          static_cast<float>(f.z_loss)};
}

// classes_of, of logits that may change before the loss.
template <bool changes, class T>
__device__ __forceinline__ void changed_classes_of(const uint4& x, int chunk, int vocab_size,
                                                   const ChangeFactors& change,
                                                   float (&to)[chunk_elements_of<T>]) {
  if constexpr (!changes) {
    classes_of<T>(x, chunk, vocab_size, to);
  } else {
    constexpr int n = chunk_elements_of<T>;
    widen16(x, to, T{});
#pragma unroll
    for (int j = 0; j < n; ++j)
      to[j] = chunk * n + j < vocab_size ? changed<T>(to[j], change).value : -INFINITY;
  }
}

// Of the classes of a chunk alone.
template <int n>
__device__ __forceinline__ float sum_of_classes(const float (&x)[n], int chunk, int vocab_size) {
  float sum = 0;
#pragma unroll
  for (int j = 0; j < n; ++j) sum += chunk * n + j < vocab_size ? x[j] : 0;
  return sum;
}

template <class T, int threads, bool aligned, Form form>
__global__ void __launch_bounds__(threads, threads == 512 ? 2 : 1)
    gradient_kernel(CrossEntropy<T> op, LogitRow width, float seed, LossSums sums,
                    std::uint32_t* counters, Factors factors) {
  constexpr bool changes = form != Form::plain, has_terms = form == Form::terms;
  const ChangeFactors& change = factors.change;
  if (op.loss_scale) seed *= static_cast<float>(*op.loss_scale);
  constexpr int n = chunk_elements_of<T>;
  extern __shared__ uint4 slots[];  // [held][threads]
  __shared__ SoftmaxSum of_warps[2 * 32];
  __shared__ float sum_of_warps[has_terms ? 2 * 32 : 1];
  const int thread = static_cast<int>(threadIdx.x), part_size = (width.held + parts - 1) / parts;
  const auto begin_part = [&](const T* row, int part) {
    for (int k = part * part_size; k < min(width.held, (part + 1) * part_size); ++k)
      if (k * threads + thread < width.chunks_read)
        copy16_async(slots + k * threads + thread,
                     reinterpret_cast<const uint4*>(row) + k * threads + thread);
  };
  if (static_cast<std::int64_t>(blockIdx.x) < op.rows) {
#pragma unroll
    for (int part = 0; part < parts; ++part) {
      if (aligned && op.targets[blockIdx.x] != no_target)
        begin_part(op.logits + static_cast<std::int64_t>(blockIdx.x) * width.columns, part);
      commit_copies();
    }
  }
  int turn = 0;
  for (std::int64_t r = blockIdx.x; r < op.rows; r += gridDim.x) {
    T* const row = op.logits + r * width.columns;
    const std::int64_t next = r + gridDim.x;
    const T* const next_row = op.logits + next * width.columns;
    const std::int32_t target = op.targets[r];
    const bool next_wanted = next < op.rows && op.targets[next] != no_target;
    float scale = 0, largest = 0;
    if (target != no_target) {
      const bool valid = target >= 0 && target < width.vocab_size;
      float at_target = valid && thread == 0 ? widened(row[target]) : 0;
      if constexpr (changes) at_target = changed<T>(at_target, change).value;
      SoftmaxSum sum;
      float of_logits = 0;
#pragma unroll
      for (int part = 0; part < parts; ++part) {
        if (part == 0) wait_for_copies<3>();
        if (part == 1) wait_for_copies<2>();
        if (part == 2) wait_for_copies<1>();
        if (part == 3) wait_for_copies<0>();
#pragma unroll 4
        for (int k = part * part_size; k < min(width.held, (part + 1) * part_size); ++k) {
          const int chunk = k * threads + thread;
          if (chunk >= width.chunks_read) break;
          float x[n];
          changed_classes_of<changes, T>(slots[chunk], chunk, width.vocab_size, change, x);
          sum.add_logits(x);
          if (has_terms) of_logits += sum_of_classes(x, chunk, width.vocab_size);
        }
      }
#pragma unroll 4
      for (int k = width.held; k < width.per_thread; ++k) {
        const int chunk = k * threads + thread;
        if (chunk >= width.chunks_read) break;
        float x[n];
        changed_classes_of<changes, T>(load_chunk<T, aligned>(row, chunk, width.columns), chunk,
                                       width.vocab_size, change, x);
        sum.add_logits(x);
        if (has_terms) of_logits += sum_of_classes(x, chunk, width.vocab_size);
      }
      sum = over_block<threads>(sum, of_warps, turn);
      if constexpr (has_terms) of_logits = over_block<threads>(of_logits, sum_of_warps, turn);
      turn ^= 1;
      largest = sum.largest;
      scale = valid ? seed / sum.sum : NAN;
      float loss = (log2f(sum.sum) - fmaf(at_target, log2_e, -largest)) * ln_2;
      if constexpr (has_terms) {
        const float z = (log2f(sum.sum) + largest) * ln_2;
        scale *= 1 + 2 * factors.z_loss * z;
        loss += factors.z_loss * z * z;
        if (factors.smoothing > 0)
          loss += factors.smoothing * at_target - factors.of_each * of_logits;
      }
      if (thread == 0) op.row_loss[r] = valid ? loss : NAN;
    } else {
      wait_for_copies<0>();
      if (thread == 0) op.row_loss[r] = 0;
    }
    const float at_each = has_terms ? seed * factors.of_each : 0,
                at_target_less = has_terms ? seed * (1 - factors.smoothing) : seed;
    const int target_chunk = target >= 0 && target < width.vocab_size ? target / n : -1;
    const auto gradient = [&](const uint4& logits, int chunk) {
      float x[n];
      if constexpr (changes) {
        widen16(logits, x, T{});
#pragma unroll
        for (int j = 0; j < n; ++j) {
          const ChangedLogit c = changed<T>(x[j], change);
          x[j] = exp2_approximate(fmaf(c.value, log2_e, -largest)) * scale;
          if constexpr (has_terms) x[j] -= at_each;
          x[j] *= c.slope;
        }
      } else {
        classes_of<T>(logits, chunk, width.vocab_size, x);
#pragma unroll
        for (int j = 0; j < n; ++j) x[j] = exp2_approximate(fmaf(x[j], log2_e, -largest)) * scale;
      }
      if (chunk * n + n > width.vocab_size) {
#pragma unroll
        for (int j = 0; j < n; ++j)
          if (chunk * n + j >= width.vocab_size) x[j] = 0;
      }
      // The target's is written over the others': an index into x that is not a constant would put
      // it into slow local memory.
      float at_own_target = 0;
      if (chunk == target_chunk) {
        ChangedLogit own{widened(row[target]), 1};
        if constexpr (changes) own = changed<T>(own.value, change);
        at_own_target = exp2_approximate(fmaf(own.value, log2_e, -largest)) * scale -
                        at_target_less;
        if constexpr (has_terms) at_own_target -= at_each;
        if constexpr (changes) at_own_target *= own.slope;
      }
      store_chunk<T, aligned>(row, chunk, width.columns, narrow16(x, T{}));
      if (chunk == target_chunk) narrow(at_own_target, row[target]);
    };
#pragma unroll
    for (int part = 0; part < parts; ++part) {
#pragma unroll 2
      for (int k = part * part_size; k < min(width.held, (part + 1) * part_size); ++k) {
        const int chunk = k * threads + thread;
        if (chunk >= width.chunks_read) break;
        if (target != no_target)
          gradient(slots[chunk], chunk);
        else
          store_chunk<T, aligned>(row, chunk, width.columns, make_uint4(0, 0, 0, 0));
        if (next_wanted)
          copy16_async(slots + chunk, reinterpret_cast<const uint4*>(next_row) + chunk);
      }
      commit_copies();
    }
#pragma unroll 2
    for (int k = width.held; k < width.per_thread; ++k) {
      const int chunk = k * threads + thread;
      if (chunk >= width.chunks_read) break;
      if (target != no_target)
        gradient(load_chunk<T, aligned>(row, chunk, width.columns), chunk);
      else
        store_chunk<T, aligned>(row, chunk, width.columns, make_uint4(0, 0, 0, 0));
    }
    for (int chunk = width.chunks_read + thread; chunk < width.chunks; chunk += threads)
      store_chunk<T, aligned>(row, chunk, width.columns, make_uint4(0, 0, 0, 0));
  }
  if (last_to_arrive(counters, gridDim.x)) add_up<T, threads>(op, sums, {});
}

template <class T, int threads, bool aligned, Form compiled>
cudaError_t launch_gradient(const CrossEntropy<T>& op, const LossForm& form, double seed,
                            const LossSums& sums, std::uint32_t* counters, int room,
                            cudaStream_t stream) {
  LogitRow width = row_of(op, threads);
  if (aligned) width.held = held_chunks(width.per_thread, threads, room);
  const int bytes = width.held * threads * 16;
  const auto kernel = gradient_kernel<T, threads, aligned, compiled>;
  unsigned blocks = 0;
  if (const cudaError_t error = resident_blocks(kernel, threads, bytes, op.rows, blocks);
      error != cudaSuccess)
    return error;
  kernel<<<blocks, threads, bytes, stream>>>(op, width, static_cast<float>(seed), sums, counters,
                                             factors_of(form, op.vocab_size));
  return cudaGetLastError();
}

template <Form compiled, class T>
cudaError_t with_gradient(const CrossEntropy<T>& op, const LossForm& form, double seed,
                          const LossSums& sums, std::uint32_t* counters, cudaStream_t stream) {
  int shared_bytes = 0;
  if (const cudaError_t error = shared_memory_of_block(shared_bytes); error != cudaSuccess)
    return error;
  const int room = room_for_rows(shared_bytes);
  if (!in_chunks(op))
    return launch_gradient<T, 512, false, compiled>(op, form, seed, sums, counters, room, stream);
  switch (threads_of_row(op.vocab_size, sizeof(T), room)) {
    case 128:
      return launch_gradient<T, 128, true, compiled>(op, form, seed, sums, counters, room, stream);
    case 512:
      return launch_gradient<T, 512, true, compiled>(op, form, seed, sums, counters, room, stream);
    default:
      return launch_gradient<T, 1024, true, compiled>(op, form, seed, sums, counters, room, stream);
  }
}

}  // namespace

template <class T>
cudaError_t cross_entropy_with_gradient(const CrossEntropy<T>& op, const LossForm& form,
                                        double seed, const LossSums& sums, std::uint32_t* counters,
                                        cudaStream_t stream) {
  if (!sound(op)) return cudaErrorInvalidValue;
  if (form.has_terms()) return with_gradient<Form::terms>(op, form, seed, sums, counters, stream);
  if (form.change.any())
    return with_gradient<Form::changes>(op, form, seed, sums, counters, stream);
  return with_gradient<Form::plain>(op, form, seed, sums, counters, stream);
}
template cudaError_t cross_entropy_with_gradient(const CrossEntropy<float>&, const LossForm&,
                                                 double, const LossSums&, std::uint32_t*,
                                                 cudaStream_t);
template cudaError_t cross_entropy_with_gradient(const CrossEntropy<Bf16>&, const LossForm&, double,
                                                 const LossSums&, std::uint32_t*, cudaStream_t);
template cudaError_t cross_entropy_with_gradient(const CrossEntropy<Fp16>&, const LossForm&, double,
                                                 const LossSums&, std::uint32_t*, cudaStream_t);

}  // namespace trainx::kernels
