#include "execute/measure_network.hpp"
#include "comm/interface.hpp"
#include "comm/measure_network.hpp"
#include "comm/part_control.hpp"
#include "core/error.hpp"
#include "core/process.hpp"
#include "facts/nccl_log.hpp"
#include "facts/network.hpp"
#ifdef TRAINX_CUDA
#include "execute/cuda/gpu_device.hpp"
#include "execute/cuda/gpu_sums.hpp"
#endif
#include <algorithm>
#include <nlohmann/json.hpp>

namespace trainx::execute {
namespace {

using Json = nlohmann::json;
using Members = std::vector<int>;

constexpr std::int64_t most_bytes_on_host = std::int64_t{64} << 20;

/// What sums over some of the ranks; all ranks make theirs at the same time.
class Summing {
 public:
  virtual ~Summing() = default;
  virtual std::int64_t most_bytes() const = 0;
  virtual comm::SumOf among(const Members& members) = 0;
};

class SumsOnHost final : public Summing {
 public:
  SumsOnHost(comm::Control& control, comm::Communicator& all)
      : control_(control), all_(all), data_(static_cast<std::size_t>(most_bytes_on_host)) {}
  std::int64_t most_bytes() const override { return most_bytes_on_host; }
  comm::SumOf among(const Members& members) override {
    if (std::ssize(members) == all_.size()) return sum_of(all_);
    parts_.push_back(comm::make_part(control_, members, all_.transport()));
    return sum_of(*parts_.back().communicator);
  }

 private:
  comm::SumOf sum_of(comm::Communicator& communicator) {
    return [this, &communicator](std::int64_t bytes) {
      communicator.all_reduce(data_.data(), bytes / size_of(DType::f32), DType::f32);
    };
  }
  comm::Control& control_;
  comm::Communicator& all_;
  std::vector<std::byte> data_;
  std::vector<comm::Part> parts_;
};

#ifdef TRAINX_CUDA
class SumsOnGpus final : public Summing {
 public:
  explicit SumsOnGpus(comm::Control& control) : control_(control) {}
  std::int64_t most_bytes() const override { return GpuSums::most_bytes; }
  comm::SumOf among(const Members& members) override {
    sums_.push_back(std::make_unique<GpuSums>(control_, members));
    return [sums = sums_.back().get()](std::int64_t bytes) { sums->sum(bytes); };
  }

 private:
  comm::Control& control_;
  std::vector<std::unique_ptr<GpuSums>> sums_;
};
#endif

std::unique_ptr<Summing> make_summing(comm::Control& control, comm::Communicator& all,
                                      [[maybe_unused]] bool on_gpu) {
#ifdef TRAINX_CUDA
  if (on_gpu) return std::make_unique<SumsOnGpus>(control);
#endif
  return std::make_unique<SumsOnHost>(control, all);
}

/// As their ranks tell of them.
std::vector<NetworkHost> tell_hosts(comm::Control& control, const facts::HardwareFacts& hardware,
                                    bool on_gpu) {
  const std::string address = control.addresses().at(static_cast<std::size_t>(control.rank()));
  const Json mine{
      {"name", hardware.host},
      {"interface", comm::interface_of(address)},
      {"gpus", on_gpu ? facts::distinct(hardware.gpu_names()) : std::vector<std::string>()}};
  std::vector<Json> all;
  for (const std::string& text :
       control.exchange(mine.dump(-1, ' ', false, Json::error_handler_t::replace)))
    all.push_back(Json::parse(text));
  std::vector<NetworkHost> hosts;
  for (const Members& ranks : control.hosts()) {
    const auto first = static_cast<std::size_t>(ranks.front());
    hosts.push_back({all[first].at("name"), control.addresses().at(first),
                     all[first].at("interface"), static_cast<int>(ranks.size()),
                     all[first].at("gpus")});
  }
  return hosts;
}

/// This rank's host, and its place among the ranks there.
std::pair<std::size_t, std::size_t> place_of(int rank, const comm::HostRanks& hosts) {
  for (std::size_t h = 0; h < hosts.size(); ++h)
    if (const auto found = std::ranges::find(hosts[h], rank); found != hosts[h].end())
      return {h, static_cast<std::size_t>(found - hosts[h].begin())};
  throw InternalError("rank " + std::to_string(rank) + " is on no host");
}

}  // namespace

std::string measuring_device([[maybe_unused]] bool on_gpu, [[maybe_unused]] int local_rank) {
  if (!on_gpu) return "";
#ifdef TRAINX_CUDA
  return gpu_identity(local_rank);
#else
  throw UserError(ExitCode::unavailable,
                  "this trainx was built without CUDA; build it where nvcc is, or set "
                  "CUDA_VISIBLE_DEVICES to nothing to measure without GPUs");
#endif
}

NetworkRates measure_network(comm::Control& control, const facts::HardwareFacts& hardware,
                             bool on_gpu) {
  std::vector<NetworkHost> hosts = tell_hosts(control, hardware, on_gpu);
  if (hosts.size() < 2)
    throw UserError(ExitCode::usage,
                    "doctor --hosts: all " + std::to_string(control.world_size()) +
                        " ranks run on " + hosts.front().name +
                        ", and links are measured between hosts; start ranks on two or more");
  const facts::NcclLog log(on_gpu);  // before NCCL begins
  const auto all = comm::make_communicator(control, "TCP");
  const comm::HostRanks& by_host = control.hosts();
  NetworkRates rates{.transport = on_gpu ? "NCCL" : all->transport(),
                     .nccl = {},
                     .hosts = std::move(hosts),
                     .pairs = comm::measure_pairs(control, *all, by_host),
                     .all = {},
                     .across = {},
                     .within = {}};
  const auto summing = make_summing(control, *all, on_gpu);
  const auto measure = [&](const Members& members) {
    return comm::measure_sum(control, static_cast<int>(members.size()), summing->most_bytes(),
                             summing->among(members));
  };
  Members everybody(static_cast<std::size_t>(control.world_size()));
  for (std::size_t r = 0; r < everybody.size(); ++r) everybody[r] = static_cast<int>(r);
  rates.all = measure(everybody);
  const auto [host, place] = place_of(control.rank(), by_host);
  const bool alike = std::ranges::all_of(
      by_host, [&](const Members& ranks) { return ranks.size() == by_host.front().size(); });
  if (alike && by_host.front().size() == 1) rates.across = rates.all;
  if (alike && by_host.front().size() > 1) {
    Members same_place;
    for (const Members& ranks : by_host) same_place.push_back(ranks[place]);
    rates.across = measure(same_place);
    rates.within = measure(by_host[host]);
  }
  rates.nccl = control.exchange(log.network()).front();
  return rates;
}

}  // namespace trainx::execute
