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
  std::vector<program::Range> ranges;
  comm::SealedPages pages;
  std::int64_t bytes() const {
    std::int64_t sum = 0;
    for (const program::Range& range : ranges) sum += range.end - range.begin;
    return sum;
  }
};

std::vector<Area> areas_of(execute::Device& device) {
  std::vector<Area> areas;
  for (const program::Space space : {program::Space::device, program::Space::host}) {
    std::vector<program::Range> ranges = device.shared_pages(space);
    if (ranges.empty()) continue;
    std::vector<comm::PageRange> pages;
    for (const program::Range& range : ranges)
      pages.push_back({static_cast<std::size_t>(range.begin),
                       static_cast<std::size_t>(range.end - range.begin)});
    std::byte* const base = space == program::Space::host ? device.host()
                                                          : device.residents().data();
    areas.push_back({space, std::move(ranges), comm::SealedPages(base, std::move(pages))});
  }
  return areas;
}

void tell_private(const std::string& why) {
  log::info("this rank has a copy of frozen weights of its own: " + why);
}

void keep_frozen(ResidentState& resident, const std::vector<Area>& areas, bool keeps) {
  for (const Area& area : areas) resident.keep_frozen(area.space, area.ranges, keeps);
}

/// On the first rank of a host, whose areas other ranks may map (`offers`). Returns what those
/// need: of each area, "" where it is this rank's alone.
std::string fill(std::vector<Area>& areas, execute::Device& device, bool offers,
                 const std::function<void()>& load) {
  std::string why;
  std::vector<bool> begun;
  for (Area& area : areas) {
    begun.push_back(offers && area.pages.begin(why));
    if (offers && !begun.back()) tell_private(why);
  }
  device.pin_shared_pages(false);
  load();
  device.unpin_shared_pages();
  comm::ByteWriter sealed;
  bool all_sealed = true;
  for (std::size_t a = 0; a < areas.size(); ++a) {
    const auto offer = begun[a] ? areas[a].pages.seal(why) : std::nullopt;
    if (begun[a] && !offer) tell_private(why);
    if (offer)
      log::debug("the ranks of this host share " + human_bytes(areas[a].bytes()) +
                 " of frozen weights");
    all_sealed = all_sealed && offer;
    sealed.put(offer.value_or(""));
  }
  device.pin_shared_pages(all_sealed);
  return sealed.take();
}

/// On the other ranks: maps what the first one has sealed.
void take(std::vector<Area>& areas, const std::string& sealed, execute::Device& device,
          ResidentState& resident) {
  comm::ByteReader in(sealed);
  bool all_taken = true;
  for (Area& area : areas) {
    const std::string offer = in.text();
    std::string why = offer.empty() ? "the first rank of this host offers none"
                                    : "the GPU cannot read pages that are mapped for reading alone";
    const bool is_taken = !offer.empty() && device.can_share_pages() && area.pages.take(offer, why);
    if (!is_taken) tell_private(why);
    resident.keep_frozen(area.space, area.ranges, is_taken);
    all_taken = all_taken && is_taken;
  }
  device.pin_shared_pages(all_taken);
}

}  // namespace

void load_shared(execute::Device& device, ResidentState& resident, const execute::Ranks& ranks,
                 const std::function<void(bool second)>& load) {
  std::vector<Area> areas = areas_of(device);
  if (areas.empty() || !ranks.share_hosts()) return load(false);
  const std::vector<int> here = ranks.ranks_of_host();
  const bool is_first = here.front() == ranks.rank(), together = resident.gathers_to_load();
  std::string sealed;
  if (is_first) {
    sealed = fill(areas, device, here.size() > 1 && device.can_share_pages(), [&] { load(false); });
    keep_frozen(resident, areas, true);
  } else if (together) {
    keep_frozen(resident, areas, true);  // zeros, until the first rank has filled its pages
    load(false);
  }
  const std::vector<std::string> all = ranks.exchange(sealed);
  if (!is_first) take(areas, all.at(static_cast<std::size_t>(here.front())), device, resident);
  // the first rank keeps its files open until all have mapped them
  ranks.exchange("");
  if (together || !is_first) load(together);
}

}  // namespace trainx::state
