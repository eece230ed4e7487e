#include "comm/measure_network.hpp"
#include "comm/clock.hpp"
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace trainx::comm {
namespace {

using Json = nlohmann::json;

constexpr std::int64_t flow_piece_bytes = 4 << 20, few_bytes = 16, least_sum_bytes = 1 << 20;
constexpr double flow_seconds = 0.3, sum_seconds = 0.2;
constexpr std::int64_t most_pieces = 1024;
constexpr int trips = 30, small_sums = 30, large_sums = 5;

template <class Work>
double seconds_of(const Work& work) {
  const Time began = Clock::now();
  work();
  return std::chrono::duration<double>(Clock::now() - began).count();
}

/// After one time that does not count.
template <class Work>
double median_seconds(int times, const Work& work) {
  work();
  std::vector<double> each;
  for (int i = 0; i < times; ++i) each.push_back(seconds_of(work));
  std::ranges::nth_element(each, each.begin() + times / 2);
  return each[static_cast<std::size_t>(times) / 2];
}

double slowest(Control& control, double seconds) {
  double most = 0;
  for (const std::string& text : control.exchange(Json(seconds).dump()))
    most = std::max(most, Json::parse(text).get<double>());
  return most;
}

/// One end of a pair of hosts, and its peer at the other.
class PairEnd {
 public:
  PairEnd(Communicator& all, int peer) : all_(all), peer_(peer), piece_(flow_piece_bytes) {}

  double lead_round_trips() {
    return median_seconds(trips, [&] {
      all_.send(piece_.data(), few_bytes, peer_);
      all_.recv(piece_.data(), few_bytes, peer_);
    });
  }
  void follow_round_trips() {
    for (int i = 0; i < trips + 1; ++i) {
      all_.recv(piece_.data(), few_bytes, peer_);
      all_.send(piece_.data(), few_bytes, peer_);
    }
  }
  /// Bytes a second, until the peer says that all have come. The first piece says how many make a
  /// flow.
  double send_flow() {
    const double one = seconds_of([&] { send_pieces(1); });
    std::int64_t pieces = std::llround(flow_seconds / one);
    pieces = std::clamp<std::int64_t>(pieces, 1, most_pieces);
    all_.send(reinterpret_cast<const std::byte*>(&pieces), sizeof pieces, peer_);
    const double seconds = seconds_of([&] { send_pieces(pieces); });
    return static_cast<double>(pieces * flow_piece_bytes) / seconds;
  }
  void receive_flow() {
    receive_pieces(1);
    std::int64_t pieces = 0;
    all_.recv(reinterpret_cast<std::byte*>(&pieces), sizeof pieces, peer_);
    receive_pieces(pieces);
  }

 private:
  void send_pieces(std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) all_.send(piece_.data(), flow_piece_bytes, peer_);
    all_.recv(piece_.data(), few_bytes, peer_);
  }
  void receive_pieces(std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) all_.recv(piece_.data(), flow_piece_bytes, peer_);
    all_.send(piece_.data(), few_bytes, peer_);
  }
  Communicator& all_;
  int peer_;
  std::vector<std::byte> piece_;
};

/// [from, to, bytes a second, round trip] of this rank's measurements.
Json measure_pair(Communicator& all, const HostRanks& hosts, int first, int second) {
  const int leader = hosts[static_cast<std::size_t>(first)].front(),
            follower = hosts[static_cast<std::size_t>(second)].front();
  if (all.rank() == leader) {
    PairEnd end(all, follower);
    const double round_trip = end.lead_round_trips(), rate = end.send_flow();
    end.receive_flow();
    return Json::array({Json::array({first, second, rate, round_trip})});
  }
  if (all.rank() == follower) {
    PairEnd end(all, leader);
    end.follow_round_trips();
    end.receive_flow();
    return Json::array({Json::array({second, first, end.send_flow(), 0.0})});
  }
  return Json::array();
}

}  // namespace

std::vector<HostPairRate> measure_pairs(Control& control, Communicator& all,
                                        const HostRanks& hosts) {
  Json mine = Json::array();
  for (const auto& round : rounds_of_pairs(static_cast<int>(hosts.size()))) {
    control.exchange("");
    for (const auto& [first, second] : round)
      for (Json& rate : measure_pair(all, hosts, first, second)) mine.push_back(std::move(rate));
  }
  std::vector<HostPairRate> rates;
  for (const std::string& text : control.exchange(mine.dump()))
    for (const Json& r : Json::parse(text)) rates.push_back({r.at(0), r.at(1), r.at(2), r.at(3)});
  std::ranges::sort(rates, {}, [](const HostPairRate& r) { return std::pair(r.from, r.to); });
  const auto there = [&](const HostPairRate& back) {
    return *std::ranges::find_if(
        rates, [&](const HostPairRate& r) { return r.from == back.to && r.to == back.from; });
  };
  for (HostPairRate& r : rates)
    if (r.from > r.to) r.round_trip_seconds = there(r).round_trip_seconds;
  return rates;
}

NetworkSum measure_sum(Control& control, int ranks, std::int64_t most_bytes, const SumOf& sum) {
  const auto timed = [&](int times, std::int64_t bytes) {
    control.exchange("");
    return slowest(control, median_seconds(times, [&] { sum(bytes); }));
  };
  const double few = timed(small_sums, few_bytes), least = timed(1, least_sum_bytes);
  const double wanted = sum_seconds / least;  // in units of least_sum_bytes
  const std::int64_t bytes =
      least_sum_bytes *
      std::clamp<std::int64_t>(std::llround(wanted), 1, most_bytes / least_sum_bytes);
  const double whole = timed(large_sums, bytes);
  return {ranks, 2.0 * (ranks - 1) / ranks * static_cast<double>(bytes) / whole, few};
}

}  // namespace trainx::comm
