#include "program/mesh.hpp"
#include "support/catch.hpp"
#include <set>

namespace mesh_test {

using namespace trainx::program;

TEST_CASE("each axis parts the ranks into groups of its size, and places count from 0") {
  for (const auto& [data, shard] : {std::pair{1, 1}, std::pair{4, 1}, std::pair{4, 4},
                                    std::pair{6, 2}, std::pair{6, 3}, std::pair{8, 2}}) {
    Mesh mesh{data, shard};
    mesh.experts = shard;
    for (const Axis axis :
         {Axis::data, Axis::shard, Axis::replica, Axis::expert, Axis::expert_replica}) {
      CAPTURE(data, shard, name_of(axis));
      std::set<std::vector<int>> groups;
      for (int rank = 0; rank < mesh.ranks(); ++rank) {
        const std::vector<int> peers = mesh.peers(axis, rank);
        REQUIRE(static_cast<int>(peers.size()) == mesh.size(axis));
        CHECK(peers[static_cast<std::size_t>(mesh.place(axis, rank))] == rank);
        for (const int peer : peers) CHECK(mesh.peers(axis, peer) == peers);
        groups.insert(peers);
      }
      CHECK(static_cast<int>(groups.size()) * mesh.size(axis) == mesh.ranks());
    }
  }
}

TEST_CASE("shards lie among neighbours, and replicas are as far from each other as there are") {
  const Mesh mesh{6, 2};
  CHECK(mesh.peers(Axis::shard, 3) == std::vector{2, 3});
  CHECK(mesh.peers(Axis::replica, 3) == std::vector{1, 3, 5});
  CHECK(mesh.peers(Axis::data, 3) == std::vector{0, 1, 2, 3, 4, 5});
}

TEST_CASE("there are replicas where shards are many and fewer than ranks") {
  CHECK(Mesh{4, 2}.has_replicas());
  CHECK_FALSE(Mesh{4, 4}.has_replicas());
  CHECK_FALSE(Mesh{4, 1}.has_replicas());
}

TEST_CASE("experts are shared by neighbours, however shards lie") {
  Mesh mesh{8, 4};
  mesh.experts = 2;
  CHECK(mesh.peers(Axis::expert, 5) == std::vector{4, 5});
  CHECK(mesh.peers(Axis::expert_replica, 5) == std::vector{1, 3, 5, 7});
  CHECK(mesh.peers(Axis::shard, 5) == std::vector{4, 5, 6, 7});
  CHECK(mesh.has_expert_replicas());
  mesh.experts = 8;
  CHECK_FALSE(mesh.has_expert_replicas());
}

}  // namespace mesh_test
