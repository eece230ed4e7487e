#include "gpu/nccl.hpp"
#include "gpu/gpu_error.hpp"
#include "gpu/library.hpp"
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <exception>

namespace trainx::gpu {
namespace {

// nccl.h is not in every toolkit; these calls and numbers have been the same since NCCL 2.10.
struct UniqueId {
  char internal[128];
};
using Comm = void*;
using Result = int;
constexpr Result success = 0, in_progress = 7;
constexpr int sum = 0, largest = 2;                                           // ncclRedOp_t
constexpr int int8 = 0, float16 = 6, float32 = 7, float64 = 8, bfloat16 = 9;  // ncclDataType_t

int type_of(DType dtype) {
  switch (dtype) {
    case DType::f32: return float32;
    case DType::f64: return float64;
    case DType::bf16: return bfloat16;
    case DType::f16: return float16;
    default: throw InternalError("NCCL sums no " + std::string(name_of(dtype)) + " here");
  }
}

struct Nccl {
  Library library{"libnccl.so.2", "collectives"};
  Result (*get_unique_id)(UniqueId*);
  Result (*init_rank)(Comm*, int, UniqueId, int);
  Result (*destroy)(Comm);
  Result (*all_reduce)(const void*, void*, std::size_t, int, int, Comm, cudaStream_t);
  Result (*reduce)(const void*, void*, std::size_t, int, int, int, Comm, cudaStream_t);
  Result (*broadcast)(const void*, void*, std::size_t, int, int, Comm, cudaStream_t);
  Result (*reduce_scatter)(const void*, void*, std::size_t, int, int, Comm, cudaStream_t);
  Result (*all_gather)(const void*, void*, std::size_t, int, Comm, cudaStream_t);
  Result (*send)(const void*, std::size_t, int, int, Comm, cudaStream_t);
  Result (*recv)(void*, std::size_t, int, int, Comm, cudaStream_t);
  Result (*group_start)();
  Result (*group_end)();
  const char* (*error_string)(Result);
  const char* (*last_error)(Comm);

  Nccl() {
    const auto load = [&]<class Function>(Function*& function, const char* name) {
      function = library.function<Function>(name);
    };
    load(get_unique_id, "ncclGetUniqueId");
    load(init_rank, "ncclCommInitRank");
    load(destroy, "ncclCommDestroy");
    load(all_reduce, "ncclAllReduce");
    load(reduce, "ncclReduce");
    load(broadcast, "ncclBroadcast");
    load(reduce_scatter, "ncclReduceScatter");
    load(all_gather, "ncclAllGather");
    load(send, "ncclSend");
    load(recv, "ncclRecv");
    load(group_start, "ncclGroupStart");
    load(group_end, "ncclGroupEnd");
    load(error_string, "ncclGetErrorString");
    load(last_error, "ncclGetLastError");
  }

  static const Nccl& instance() {
    // NVLink multicast is left out: not every host lets processes have it.
    static const bool set = ::setenv("NCCL_NVLS_ENABLE", "0", 0) == 0;
    static const Nccl nccl;
    static_cast<void>(set);
    return nccl;
  }

  void require(Result result, const std::string& doing) const {
    if (result == success || result == in_progress) return;
    const char* words = last_error(nullptr);
    throw_library_error(ExitCode::unavailable,
                        doing + " (NCCL: " + error_string(result) +
                            (words && *words ? std::string("; ") + words : std::string()) +
                            "); NCCL_DEBUG=WARN says more");
  }
};

}  // namespace

std::string NcclCommunicator::make_id() {
  const Nccl& nccl = Nccl::instance();
  UniqueId id{};
  nccl.require(nccl.get_unique_id(&id), "meeting of the ranks' GPUs");
  return {id.internal, sizeof id.internal};
}

NcclCommunicator::NcclCommunicator(const std::string& id, int rank, int world_size, int processors)
    : ranks_(world_size) {
  const Nccl& nccl = Nccl::instance();
  // read when the process's first communicator is made
  ::setenv("NCCL_MAX_CTAS", std::to_string(processors).c_str(), 0);
  UniqueId unique{};
  if (id.size() != sizeof unique.internal)
    throw InternalError("NCCL: an id of " + std::to_string(id.size()) + " bytes");
  std::memcpy(unique.internal, id.data(), id.size());
  nccl.require(nccl.init_rank(&communicator_, world_size, unique, rank),
               "meeting of the ranks' GPUs");
}

NcclCommunicator::~NcclCommunicator() {
  if (communicator_) Nccl::instance().destroy(communicator_);
}

void NcclCommunicator::all_reduce(void* data, std::int64_t elements, DType dtype,
                                  cudaStream_t stream) const {
  const Nccl& nccl = Nccl::instance();
  nccl.require(nccl.all_reduce(data, data, static_cast<std::size_t>(elements), type_of(dtype), sum,
                               communicator_, stream),
               "sum over GPUs");
}

void NcclCommunicator::all_reduce_max(float* data, std::int64_t elements,
                                      cudaStream_t stream) const {
  const Nccl& nccl = Nccl::instance();
  nccl.require(nccl.all_reduce(data, data, static_cast<std::size_t>(elements), type_of(DType::f32),
                               largest, communicator_, stream),
               "largest over GPUs");
}

void NcclCommunicator::reduce(void* data, std::int64_t elements, DType dtype, int root,
                              cudaStream_t stream) const {
  const Nccl& nccl = Nccl::instance();
  nccl.require(nccl.reduce(data, data, static_cast<std::size_t>(elements), type_of(dtype), sum,
                           root, communicator_, stream),
               "sum to one GPU");
}

void NcclCommunicator::broadcast(void* data, std::int64_t bytes, int root,
                                 cudaStream_t stream) const {
  const Nccl& nccl = Nccl::instance();
  nccl.require(nccl.broadcast(data, data, static_cast<std::size_t>(bytes), int8, root,
                              communicator_, stream),
               "broadcast between GPUs");
}

void NcclCommunicator::reduce_scatter(const void* full, void* shard, std::int64_t shard_elements,
                                      DType dtype, cudaStream_t stream) const {
  const Nccl& nccl = Nccl::instance();
  nccl.require(nccl.reduce_scatter(full, shard, static_cast<std::size_t>(shard_elements),
                                   type_of(dtype), sum, communicator_, stream),
               "sum of shards over GPUs");
}

void NcclCommunicator::all_gather(const void* shard, void* full, std::int64_t shard_bytes,
                                  cudaStream_t stream) const {
  const Nccl& nccl = Nccl::instance();
  nccl.require(nccl.all_gather(shard, full, static_cast<std::size_t>(shard_bytes), int8,
                               communicator_, stream),
               "gathering of shards");
}

void NcclCommunicator::all_to_all(const void* out, void* in, std::int64_t slot_bytes,
                                  cudaStream_t stream) const {
  const Together one_launch;
  for (int rank = 0; rank < ranks_; ++rank) {
    send(static_cast<const std::byte*>(out) + rank * slot_bytes, slot_bytes, rank, stream);
    recv(static_cast<std::byte*>(in) + rank * slot_bytes, slot_bytes, rank, stream);
  }
}

void NcclCommunicator::send(const void* data, std::int64_t bytes, int to,
                            cudaStream_t stream) const {
  const Nccl& nccl = Nccl::instance();
  nccl.require(nccl.send(data, static_cast<std::size_t>(bytes), int8, to, communicator_, stream),
               "sending between GPUs");
}

void NcclCommunicator::recv(void* data, std::int64_t bytes, int from, cudaStream_t stream) const {
  const Nccl& nccl = Nccl::instance();
  nccl.require(nccl.recv(data, static_cast<std::size_t>(bytes), int8, from, communicator_, stream),
               "receiving between GPUs");
}

NcclCommunicator::Together::Together() {
  const Nccl& nccl = Nccl::instance();
  nccl.require(nccl.group_start(), "collectives together");
}

NcclCommunicator::Together::~Together() noexcept(false) {
  const Nccl& nccl = Nccl::instance();
  const Result result = nccl.group_end();
  if (std::uncaught_exceptions() == 0) nccl.require(result, "collectives together");
}

}  // namespace trainx::gpu
