#include "program/layout.hpp"
#include "core/error.hpp"
#include <algorithm>

namespace trainx::program {

Layout Layout::cut(AxisSet along) const {
  Layout more = *this;
  const auto free = std::ranges::find_if(more.cuts_, &AxisSet::is_empty);
  if (free == more.cuts_.end() || along.is_empty())
    throw InternalError("a layout is cut along " + name_of(along) + " besides " +
                        name_of(this->along()));
  *free = along;
  return more;
}

int Layout::parts(const Mesh& mesh) const {
  return is_whole() ? 1 : mesh.size(cuts_[0]) * mesh.size(cuts_[1]);
}

int Layout::part(const Mesh& mesh, int rank) const {
  if (is_whole()) return 0;
  return mesh.place(cuts_[0], rank) * mesh.size(cuts_[1]) + mesh.place(cuts_[1], rank);
}

std::string name_of(const Layout& layout) {
  std::string name;
  for (const AxisSet cut : layout.cuts())
    if (!cut.is_empty()) name += (name.empty() ? "" : ", ") + name_of(cut);
  return name.empty() ? "whole" : name;
}

}  // namespace trainx::program
