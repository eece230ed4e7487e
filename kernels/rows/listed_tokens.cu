#include "kernels/rows/for_elements.cuh"
#include "kernels/rows/listed_tokens.hpp"

namespace trainx::kernels {
namespace {

constexpr std::int32_t most_listed = 256;

/// Some of a list, as a kernel's argument.
struct Listed {
  std::int32_t ids[most_listed];
  std::int32_t first = 0, count = 0;
};

/// Calls f(some of the ids) until all have been there.
template <class F>
cudaError_t for_lists(const std::int32_t* ids, std::int32_t count, F f) {
  for (std::int32_t first = 0; first < count; first += most_listed) {
    Listed some;
    some.first = first;
    some.count = count - first < most_listed ? count - first : most_listed;
    for (std::int32_t k = 0; k < some.count; ++k) some.ids[k] = ids[first + k];
    if (const cudaError_t error = f(some); error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

struct Place {
  PlaceTokens op;
  Listed some;
  __device__ void operator()(std::int64_t n, int) const {
    std::int32_t place = some.first == 0 ? op.count : op.places[n];
    for (std::int32_t k = 0; k < some.count; ++k)
      if (some.ids[k] == op.tokens[n]) place = some.first + k;
    op.places[n] = place;
  }
};

template <class T>
struct Replace {
  ReplaceRows<T> op;
  __device__ void operator()(std::int64_t n, int c) const {
    const std::int64_t i = n * op.columns + c;
    if (op.places[n] >= op.others)
      op.y[i] = op.base[i];
    else
      narrow(replaced(op, n, c), op.y[i]);
  }
};

template <class T>
struct TakeListed {
  ListedColumns<T> op;
  Listed some;
  __device__ void operator()(std::int64_t n, int k) const {
    T x{};
    if (some.ids[k] >= 0) x = op.wide[n * op.columns + some.ids[k]];
    op.narrow[n * op.count + some.first + k] = x;
  }
};

template <class T>
struct PutListed {
  ListedColumns<T> op;
  Listed some;
  __device__ void operator()(std::int64_t n, int k) const {
    if (some.ids[k] < 0) return;
    T x{};
    if (op.narrow) x = op.narrow[n * op.count + some.first + k];
    op.wide[n * op.columns + some.ids[k]] = x;
  }
};

}  // namespace

cudaError_t place_tokens(const PlaceTokens& op, cudaStream_t stream) {
  return for_lists(op.ids, op.count, [&](const Listed& some) {
    return launch_for_elements(op.rows, 1, stream, Place{op, some});
  });
}

template <class T>
cudaError_t replace_rows(const ReplaceRows<T>& op, cudaStream_t stream) {
  return launch_for_elements(op.count, op.columns, stream, Replace<T>{op});
}

template <class T>
cudaError_t take_listed_columns(const ListedColumns<T>& op, cudaStream_t stream) {
  return for_lists(op.ids, op.count, [&](const Listed& some) {
    return launch_for_elements(op.rows, some.count, stream, TakeListed<T>{op, some});
  });
}

template <class T>
cudaError_t put_listed_columns(const ListedColumns<T>& op, cudaStream_t stream) {
  return for_lists(op.ids, op.count, [&](const Listed& some) {
    return launch_for_elements(op.rows, some.count, stream, PutListed<T>{op, some});
  });
}

#define TRAINX_LISTED(T)                                                           \
  template cudaError_t replace_rows(const ReplaceRows<T>&, cudaStream_t);          \
  template cudaError_t take_listed_columns(const ListedColumns<T>&, cudaStream_t); \
  template cudaError_t put_listed_columns(const ListedColumns<T>&, cudaStream_t);
TRAINX_LISTED(float)
TRAINX_LISTED(Bf16)
TRAINX_LISTED(Fp16)
#undef TRAINX_LISTED

}  // namespace trainx::kernels
