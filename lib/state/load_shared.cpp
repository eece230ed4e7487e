#include "state/load_shared.hpp"
#include "comm/bytes.hpp"
#include "comm/sealed_pages.hpp"
#include "core/units.hpp"
#include "log/log.hpp"
#include <optional>
#include <string>
#include <vector>

namespace trainx::state {
namespace {

/// Pages of one of the device's arenas.
struct Area {
  program::Space space;
  std::int64_t bytes = 0;
  comm::SealedPages pages;
};

std::vector<Area> areas_of(execute::Device& device) {
  std::vector<Area> areas;
  for (const program::Space space : {program::Space::device, program::Space::host}) {
    std::vector<comm::PageRange> ranges;
    std::int64_t bytes = 0;
    for (const program::Range& range : device.shared_pages(space)) {
      ranges.push_back({static_cast<std::size_t>(range.begin),
                        static_cast<std::size_t>(range.end - range.begin)});
      bytes += range.end - range.begin;
    }
    if (ranges.empty()) continue;
    std::byte* const base =
        space == program::Space::host ? device.host() : device.residents().data();
    areas.push_back({space, bytes, comm::SealedPages(base, std::move(ranges))});
  }
  return areas;
}

void tell_private(const std::string& why) {
  log::info("this rank has a copy of frozen weights of its own: " + why);
}

/// The first rank of a host loads. Returns what the others need; "" for an area that is its own.
std::string fill(std::vector<Area>& areas, execute::Device& device, ResidentState& resident,
                 const std::function<void()>& load) {
  std::string why;
  std::vector<bool> begun;
  for (Area& area : areas) {
    begun.push_back(area.pages.begin(why));
    if (!begun.back()) tell_private(why);
  }
  device.pin_shared_pages(false);
  load();
  device.unpin_shared_pages();
  comm::ByteWriter offers;
  bool all_sealed = true;
  for (std::size_t a = 0; a < areas.size(); ++a) {
    const auto offer = begun[a] ? areas[a].pages.seal(why) : std::nullopt;
    if (begun[a] && !offer) tell_private(why);
    if (offer) {
      resident.take_as_loaded(areas[a].space);
      log::debug("the ranks of this host share " + human_bytes(areas[a].bytes) +
                 " of frozen weights");
    }
    all_sealed = all_sealed && offer;
    offers.put(offer.value_or(""));
  }
  device.pin_shared_pages(all_sealed);
  return offers.take();
}

/// Another rank of the host maps what its first one has sealed.
void take(std::vector<Area>& areas, const std::string& offers, execute::Device& device,
          ResidentState& resident) {
  comm::ByteReader in(offers);
  bool all_taken = true;
  for (Area& area : areas) {
    const std::string offer = in.text();
    std::string why = "the first rank of this host offers none";
    const bool is_taken = device.can_share_pages() && !offer.empty() &&
                          area.pages.take(offer, why);
    if (is_taken)
      resident.take_as_loaded(area.space);
    else
      tell_private(why);
    all_taken = all_taken && is_taken;
  }
  device.pin_shared_pages(all_taken);
}

}  // namespace

void load_shared(execute::Device& device, ResidentState& resident, const execute::Ranks& ranks,
                 const std::function<void()>& load) {
  std::vector<Area> areas = areas_of(device);
  if (areas.empty() || !ranks.share_hosts()) return load();
  const std::vector<int> here = ranks.ranks_of_host();
  const bool is_first = here.front() == ranks.rank(),
             fills = is_first && here.size() > 1 && device.can_share_pages();
  std::string offers;
  if (fills) {
    offers = fill(areas, device, resident, load);
  } else if (is_first) {
    device.pin_shared_pages(false);
    load();
    comm::ByteWriter none;
    for (std::size_t a = 0; a < areas.size(); ++a) none.put("");
    offers = none.take();
  }
  const std::vector<std::string> all = ranks.exchange(offers);
  if (!is_first) take(areas, all.at(static_cast<std::size_t>(here.front())), device, resident);
  // the first rank keeps its files open until all have mapped them
  ranks.exchange("");
  if (!is_first) load();
}

}  // namespace trainx::state
