#include "program/mesh.hpp"

namespace trainx::program {

int Mesh::size(Axis axis) const {
  switch (axis) {
    case Axis::data: return data;
    case Axis::shard: return shard;
    case Axis::replica: return data / shard;
  }
  return 1;
}

int Mesh::place(Axis axis, int rank) const {
  switch (axis) {
    case Axis::data: return rank;
    case Axis::shard: return rank % shard;
    case Axis::replica: return rank / shard;
  }
  return 0;
}

std::vector<int> Mesh::peers(Axis axis, int rank) const {
  const int step = axis == Axis::replica ? shard : 1;
  const int first = rank - step * place(axis, rank);
  std::vector<int> ranks;
  for (int k = 0; k < size(axis); ++k) ranks.push_back(first + k * step);
  return ranks;
}

std::string_view name_of(Axis axis) {
  switch (axis) {
    case Axis::data: return "data";
    case Axis::shard: return "shard";
    case Axis::replica: return "replica";
  }
  return "";
}

}  // namespace trainx::program
