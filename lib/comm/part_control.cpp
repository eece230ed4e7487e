#include "comm/part_control.hpp"
#include <algorithm>

namespace trainx::comm {
namespace {

Membership membership_in(const std::vector<int>& members, Membership of_run) {
  const auto mine = std::ranges::find(members, of_run.rank);
  if (mine == members.end())
    throw InternalError("rank " + std::to_string(of_run.rank) +
                        " is not of its own part of the ranks");
  of_run.rank = static_cast<int>(mine - members.begin());
  of_run.world_size = static_cast<int>(members.size());
  return of_run;
}

}  // namespace

PartControl::PartControl(Control& all, std::vector<int> members)
    : Control(membership_in(members, all.membership())), all_(all), members_(std::move(members)) {
  for (const int m : members_)
    addresses_.push_back(all.addresses().at(static_cast<std::size_t>(m)));
  for (const std::vector<int>& of_host : all.hosts()) {
    std::vector<int> places;
    for (std::size_t place = 0; place < members_.size(); ++place)
      if (std::ranges::count(of_host, members_[place]) > 0)
        places.push_back(static_cast<int>(place));
    if (!places.empty()) hosts_.push_back(std::move(places));
  }
  std::ranges::sort(hosts_);  // by their first rank
}

std::vector<std::string> PartControl::exchange(std::string_view mine) {
  const std::vector<std::string> of_all = all_.exchange(mine);
  std::vector<std::string> of_part;
  for (const int m : members_) of_part.push_back(of_all.at(static_cast<std::size_t>(m)));
  return of_part;
}

void PartControl::leave() { throw InternalError("a part of the ranks that leaves by itself"); }
void PartControl::leave_with(ExitCode, const std::string&) { leave(); }

Part make_part(Control& all, std::vector<int> members, const std::string& transport) {
  Part part{std::make_unique<PartControl>(all, std::move(members)), nullptr};
  part.communicator = make_communicator(*part.control, transport);
  return part;
}

}  // namespace trainx::comm
