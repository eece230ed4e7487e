#include "kernels/rows/columns.hpp"
#include "kernels/rows/for_elements.cuh"

namespace trainx::kernels {
namespace {

template <class T>
struct CopyHeads {
  HeadColumns<T> to;
  HeadColumns<const T> from;
  __device__ void operator()(std::int64_t n, int c) const {
    const int width = static_cast<int>(to.width), h = c / width, d = c % width;
    T x{};
    if (d < from.width) x = from.at[n * from.pitch + from.first + h * from.width + d];
    to.at[n * to.pitch + to.first + c] = x;
  }
};

template <class T>
struct AddHeads {
  HeadColumns<T> to;
  HeadColumns<const T> from;
  __device__ void operator()(std::int64_t n, int c) const {
    T& sum = to.at[n * to.pitch + to.first + c];
    narrow(widened(sum) + widened(from.at[n * from.pitch + from.first + c]), sum);
  }
};

template <class T>
struct Put {
  PutColumns<T> op;
  __device__ void operator()(std::int64_t n, int c) const {
    const std::int64_t i = n * op.columns + c, at = c - op.first;
    const bool inside = at >= 0 && at < op.count;
    narrow((inside ? widened(op.from[n * op.count + at]) : 0.0f) +
               (op.addend ? widened(op.addend[i]) : 0.0f),
           op.to[i]);
  }
};

}  // namespace

template <class T>
cudaError_t copy_heads(const HeadColumns<T>& to, const HeadColumns<const T>& from,
                       std::int64_t rows, std::int64_t heads, cudaStream_t stream) {
  return launch_for_elements(rows, heads * to.width, stream, CopyHeads<T>{to, from});
}

template <class T>
cudaError_t add_heads(const HeadColumns<T>& to, const HeadColumns<const T>& from, std::int64_t rows,
                      std::int64_t heads, cudaStream_t stream) {
  return launch_for_elements(rows, heads * to.width, stream, AddHeads<T>{to, from});
}

template <class T>
cudaError_t put_columns(const PutColumns<T>& op, cudaStream_t stream) {
  return launch_for_elements(op.rows, op.columns, stream, Put<T>{op});
}

#define TRAINX_COLUMNS(T)                                                                          \
  template cudaError_t copy_heads(const HeadColumns<T>&, const HeadColumns<const T>&,              \
                                  std::int64_t, std::int64_t, cudaStream_t);                       \
  template cudaError_t add_heads(const HeadColumns<T>&, const HeadColumns<const T>&, std::int64_t, \
                                 std::int64_t, cudaStream_t);                                      \
  template cudaError_t put_columns(const PutColumns<T>&, cudaStream_t);
TRAINX_COLUMNS(float)
TRAINX_COLUMNS(Bf16)
TRAINX_COLUMNS(Fp16)
#undef TRAINX_COLUMNS

}  // namespace trainx::kernels
