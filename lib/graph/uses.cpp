#include "graph/uses.hpp"
#include <algorithm>

namespace trainx::graph {

using program::How;

void Uses::note(Slot s, How how) {
  const auto at = std::ranges::find(uses_, s, &program::SlotUse::slot);
  if (at == uses_.end())
    uses_.push_back({s, how});
  else if (at->how == How::read && how != How::read)
    at->how = how == How::overwrite ? How::modify : how;
}

std::vector<program::SlotUse> Uses::list() const {
  std::vector<program::SlotUse> out;
  for (const bool reads : {true, false})
    for (const program::SlotUse& u : uses_)
      if ((u.how == How::read) == reads) out.push_back(u);
  return out;
}

}  // namespace trainx::graph
