#include "program/mesh.hpp"

namespace trainx::program {

int Mesh::size(Axis axis) const {
  switch (axis) {
    case Axis::data: return data;
    case Axis::shard: return shard;
    case Axis::replica: return data / shard;
    case Axis::expert: return experts;
    case Axis::expert_replica: return data / experts;
  }
  return 1;
}

int Mesh::place(Axis axis, int rank) const {
  switch (axis) {
    case Axis::data: return rank;
    case Axis::shard: return rank % shard;
    case Axis::replica: return rank / shard;
    case Axis::expert: return rank % experts;
    case Axis::expert_replica: return rank / experts;
  }
  return 0;
}

std::vector<int> Mesh::peers(Axis axis, int rank) const {
  const int step = axis == Axis::replica ? shard : axis == Axis::expert_replica ? experts : 1;
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
    case Axis::expert: return "expert";
    case Axis::expert_replica: return "expert_replica";
  }
  return "";
}

}  // namespace trainx::program
