#include "gpu/measure_links.hpp"
#include "gpu/resources.hpp"
#include "gpu/nccl.hpp"
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <thread>

namespace trainx::gpu {
namespace {

constexpr std::int64_t large = std::int64_t{256} << 20, small = 16;  // bytes
constexpr int rounds = 5, small_rounds = 50;
constexpr const char* measuring = "measuring links";

/// What one GPU takes part with.
class Party {
 public:
  explicit Party(int device) : device_(device) {
    use();
    stream_ = make_stream(measuring);
    memory_ = allocate_device(large, measuring);
    require(cudaMemsetAsync(memory_, 1, large, stream_), measuring);
    wait();
    char address[32] = {};
    require(cudaDeviceGetPCIBusId(address, sizeof address, device), measuring);
    address_ = address;
    std::ranges::transform(address_, address_.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  }
  Party(const Party&) = delete;
  Party& operator=(const Party&) = delete;

  void use() const { require(cudaSetDevice(device_), measuring); }
  void wait() const { require(cudaStreamSynchronize(stream_), measuring); }
  int device() const { return device_; }
  void* memory() const { return memory_; }
  cudaStream_t stream() const { return stream_; }
  const std::string& address() const { return address_; }

 private:
  int device_;
  Stream stream_;
  DeviceMemory memory_;
  std::string address_;
};

/// Peer access of one GPU to another's memory, while it lives; `there`: it can be had.
class PeerAccess {
 public:
  PeerAccess(const Party& from, const Party& to) : from_(from), to_(to) {
    int can = 0;
    require(cudaDeviceCanAccessPeer(&can, from.device(), to.device()), measuring);
    if (!can) return;
    from.use();
    require(cudaDeviceEnablePeerAccess(to.device(), 0), measuring);
    there_ = true;
  }
  ~PeerAccess() {
    if (!there_) return;
    cudaSetDevice(from_.device());
    cudaDeviceDisablePeerAccess(to_.device());
  }
  PeerAccess(const PeerAccess&) = delete;
  PeerAccess& operator=(const PeerAccess&) = delete;
  bool there() const { return there_; }

 private:
  const Party &from_, &to_;
  bool there_ = false;
};

double median_seconds(int times, const std::function<void()>& work) {
  work();
  std::vector<double> each;
  for (int i = 0; i < times; ++i) {
    const auto began = std::chrono::steady_clock::now();
    work();
    each.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count());
  }
  std::ranges::nth_element(each, each.begin() + times / 2);
  return each[static_cast<std::size_t>(times) / 2];
}

HostLinkRate measure_host(const Party& gpu) {
  gpu.use();
  const PinnedMemory host = allocate_pinned(large, measuring);
  const auto copy = [&](void* to, const void* from, cudaMemcpyKind kind) {
    require(cudaMemcpyAsync(to, from, large, kind, gpu.stream()), measuring);
    gpu.wait();
  };
  const double in =
      median_seconds(rounds, [&] { copy(gpu.memory(), host, cudaMemcpyHostToDevice); });
  const double out =
      median_seconds(rounds, [&] { copy(host, gpu.memory(), cudaMemcpyDeviceToHost); });
  return {gpu.address(), large / in, large / out};
}

PairLinkRate measure_pair(const Party& from, const Party& to) {
  const auto copy = [&](std::size_t bytes) {
    require(cudaMemcpyPeerAsync(to.memory(), to.device(), from.memory(), from.device(), bytes,
                                from.stream()),
            measuring);
    from.wait();
  };
  from.use();
  PairLinkRate rate{from.address(), to.address()};
  rate.staged_bytes_per_second = large / median_seconds(rounds, [&] { copy(large); });
  const PeerAccess access(from, to);
  from.use();
  if (access.there())
    rate.direct_bytes_per_second = large / median_seconds(rounds, [&] { copy(large); });
  rate.latency_seconds = median_seconds(small_rounds, [&] { copy(small); });
  return rate;
}

/// A thread for each GPU, as processes would be; rank 0's clock counts, which stops when the sum is
/// there.
SumRate measure_sum(const std::vector<std::unique_ptr<Party>>& gpus) {
  const int world = static_cast<int>(gpus.size());
  const std::string id = NcclCommunicator::make_id();
  SumRate rate{world};
  std::vector<std::exception_ptr> failures(gpus.size());
  std::vector<std::jthread> ranks;
  for (int r = 0; r < world; ++r)
    ranks.emplace_back([&, r] {
      try {
        const Party& gpu = *gpus[static_cast<std::size_t>(r)];
        gpu.use();
        const NcclCommunicator nccl(id, r, world);
        const auto sum = [&](std::size_t bytes) {
          nccl.all_reduce(gpu.memory(), static_cast<std::int64_t>(bytes / sizeof(float)),
                          DType::f32, gpu.stream());
          gpu.wait();
        };
        const double whole = median_seconds(rounds, [&] { sum(large); }),
                     few = median_seconds(small_rounds, [&] { sum(small); });
        if (r == 0)
          rate.bytes_per_second = 2.0 * (world - 1) / world * large / whole,
          rate.latency_seconds = few;
      } catch (const std::exception&) {
        failures[static_cast<std::size_t>(r)] = std::current_exception();
      }
    });
  ranks.clear();
  for (const auto& failure : failures)
    if (failure) std::rethrow_exception(failure);
  return rate;
}

}  // namespace

LinkRates measure_links() {
  int count = 0;
  require(cudaGetDeviceCount(&count), measuring);
  std::vector<std::unique_ptr<Party>> gpus;
  for (int i = 0; i < count; ++i) gpus.push_back(std::make_unique<Party>(i));
  LinkRates rates;
  for (const auto& gpu : gpus) rates.hosts.push_back(measure_host(*gpu));
  for (const auto& from : gpus)
    for (const auto& to : gpus)
      if (from != to) rates.pairs.push_back(measure_pair(*from, *to));
  if (count < 2) return rates;
  try {
    rates.sum = measure_sum(gpus);
  } catch (const GpuError& e) {
    rates.sum_problem = e.what();  // without NCCL the rest is known all the same
  }
  return rates;
}

}  // namespace trainx::gpu
