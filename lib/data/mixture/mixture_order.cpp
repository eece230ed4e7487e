#include "data/mixture/mixture_order.hpp"
#include "core/error.hpp"
#include "data/counter_random.hpp"
#include "data/permutation.hpp"
#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace trainx::data {
namespace {

using Quotas = std::vector<std::int64_t>;

/// `block` samples by largest remainder, each source at least one.
Quotas share_out(const std::vector<double>& shares, std::int64_t block) {
  Quotas quotas;
  std::vector<std::pair<double, std::size_t>> remainders;
  for (std::size_t s = 0; s < shares.size(); ++s) {
    // 0.7 * 1000 is 699.9...
    const double exact = shares[s] * static_cast<double>(block),
                 whole = std::max(1.0, std::floor(exact + 1e-9));
    quotas.push_back(static_cast<std::int64_t>(whole));
    remainders.emplace_back(whole - exact, s);
  }
  std::ranges::sort(remainders);
  std::int64_t left = block - std::accumulate(quotas.begin(), quotas.end(), std::int64_t{0});
  for (std::size_t i = 0; left > 0; ++i, --left) ++quotas[remainders[i % remainders.size()].second];
  for (; left < 0; ++left) --*std::ranges::max_element(quotas);  // what the least ones were given
  return quotas;
}

double error_of(const Quotas& quotas, const std::vector<double>& shares, std::int64_t block) {
  double worst = 0;
  for (std::size_t s = 0; s < shares.size(); ++s)
    worst = std::max(
        worst, std::abs(static_cast<double>(quotas[s]) / static_cast<double>(block) - shares[s]));
  return worst;
}

/// The places of a block without shuffling: at each the source that lags most behind its share.
std::vector<std::size_t> even_places(const Quotas& quotas, std::int64_t block) {
  std::vector<std::size_t> places;
  Quotas credit(quotas.size());
  for (std::int64_t q = 0; q < block; ++q) {
    for (std::size_t s = 0; s < quotas.size(); ++s) credit[s] += quotas[s];
    const auto most = std::ranges::max_element(credit);
    *most -= block;
    places.push_back(static_cast<std::size_t>(most - credit.begin()));
  }
  return places;
}

struct Mixture {
  struct Part {
    Order order;
    std::int64_t quota = 0, first_sample = 0;
  };
  // whose sample it is, and its how many-th of the block
  struct Place {
    std::size_t part = 0;
    std::int64_t rank = 0;
  };

  std::int64_t sample_at(std::int64_t position) const {
    const auto count = static_cast<std::int64_t>(places.size());
    const std::int64_t block = position / count;
    auto q = static_cast<std::uint64_t>(position % count);
    if (shuffle)
      q = permute(q, static_cast<std::uint64_t>(count),
                  mix64(key + static_cast<std::uint64_t>(block)));
    const Place& place = places[q];
    const Part& part = parts[place.part];
    return part.first_sample + part.order.sample_at(block * part.quota + place.rank);
  }

  std::vector<Part> parts;
  std::vector<Place> places;  // of a block, before it is shuffled
  std::uint64_t key = 0;
  bool shuffle = true;
};

}  // namespace

std::vector<std::int64_t> mixture_quotas(const std::vector<MixturePart>& parts) {
  if (parts.empty() || static_cast<std::int64_t>(parts.size()) > most_block_samples / 2)
    throw InternalError("mixture of " + std::to_string(parts.size()) + " sources");
  double sum = 0;
  for (const MixturePart& part : parts) sum += part.weight;
  std::vector<double> shares;
  for (const MixturePart& part : parts) shares.push_back(part.weight / sum);
  Quotas best;
  double least = 2;
  for (std::int64_t block = most_block_samples; block >= most_block_samples / 2; --block) {
    const Quotas quotas = share_out(shares, block);
    const double error = error_of(quotas, shares, block);
    if (!(error < least - 1e-12)) continue;
    least = error;
    best = quotas;
  }
  return best;
}

Order mixture_order(const std::vector<MixturePart>& parts, std::uint64_t seed, bool shuffle) {
  const Quotas quotas = mixture_quotas(parts);
  auto mixture = std::make_shared<Mixture>();
  mixture->key = mix64(seed + 0x6d6978747572ull);
  mixture->shuffle = shuffle;
  std::int64_t samples = 0;
  for (std::size_t s = 0; s < parts.size(); ++s) {
    mixture->parts.push_back(
        {Order(parts[s].samples, mix64(seed ^ mix64(s + 1)), shuffle), quotas[s], samples});
    samples += parts[s].samples;
  }
  Quotas used(parts.size());
  for (const std::size_t s :
       even_places(quotas, std::accumulate(quotas.begin(), quotas.end(), std::int64_t{0})))
    mixture->places.push_back({s, used[s]++});
  return Order(samples, [mixture = std::shared_ptr<const Mixture>(std::move(mixture))](
                            std::int64_t position) { return mixture->sample_at(position); });
}

}  // namespace trainx::data
