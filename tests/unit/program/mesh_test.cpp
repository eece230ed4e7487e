#include "core/error.hpp"
#include "program/mesh.hpp"
#include "support/catch.hpp"
#include <algorithm>
#include <set>

namespace mesh_test {

using namespace trainx::program;

TEST_CASE("each axis parts the ranks into groups of its size, and places count from 0") {
  for (const auto& [data, shard] : {std::pair{1, 1}, std::pair{4, 1}, std::pair{4, 4},
                                    std::pair{6, 2}, std::pair{6, 3}, std::pair{8, 2}}) {
    Mesh mesh{data, shard};
    mesh.experts = shard;
    for (const AxisSet axis :
         {axes::all, axes::shard, axes::replica, axes::expert, axes::expert_replica}) {
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
  CHECK(mesh.peers(axes::shard, 3) == std::vector{2, 3});
  CHECK(mesh.peers(axes::replica, 3) == std::vector{1, 3, 5});
  CHECK(mesh.peers(axes::all, 3) == std::vector{0, 1, 2, 3, 4, 5});
}

TEST_CASE("sets along which the same ranks differ are the same where they are significant") {
  const Mesh whole{4, 4}, halves{4, 2};
  CHECK(whole.significant(axes::shard) == whole.significant(axes::all));
  CHECK(halves.significant(axes::shard) != halves.significant(axes::all));
  CHECK(whole.significant(axes::replica).is_empty());
  CHECK_FALSE(halves.significant(axes::replica).is_empty());
}

TEST_CASE("shards of those that have the same experts lie within shards, or apart from experts") {
  Mesh mesh{16, 8};
  mesh.experts = 2;
  constexpr AxisSet rest = axes::shard - axes::expert;
  CHECK(mesh.peers(rest, 5) == std::vector{1, 3, 5, 7});
  CHECK(mesh.size(rest) * mesh.size(axes::expert) == mesh.shard);
  CHECK(mesh.place(rest, 5) == 2);
  CHECK(mesh.peers(axes::replica - axes::expert, 5) == std::vector{5, 13});
  mesh.experts = 16;  // more than share shards
  CHECK(mesh.size(rest) == 1);
  CHECK(mesh.peers(axes::expert, 5).size() == 16);
  mesh.experts = 3;
  CHECK_FALSE(Mesh::is_grid(mesh.shard, mesh.experts));
}

TEST_CASE("neighbours hold as many of a group as lie among them") {
  Mesh mesh{16, 8};
  mesh.experts = 2;
  for (const int host : {1, 2, 4, 8, 16})
    for (const AxisSet set : {axes::all, axes::shard, axes::replica, axes::expert,
                              axes::expert_replica, axes::shard - axes::expert}) {
      CAPTURE(host, name_of(set));
      CHECK(mesh.among_neighbours(set, host) ==
            std::ranges::count_if(mesh.peers(set, 0), [&](int rank) { return rank < host; }));
    }
}

TEST_CASE(
    "ranks that share a batch are the nearest, and those with a batch of their own lie apart") {
  Mesh mesh{16, 2};
  mesh.tensor = 4;
  CHECK(mesh.peers(axes::tensor, 5) == std::vector{4, 5, 6, 7});
  CHECK(mesh.peers(axes::shard, 5) == std::vector{1, 5});
  CHECK(mesh.peers(axes::replica, 5) == std::vector{5, 13});
  CHECK(mesh.peers(axes::data, 5) == std::vector{1, 5, 9, 13});
  CHECK(mesh.place(axes::data, 13) == 3);
  CHECK(mesh.size(axes::data) * mesh.size(axes::tensor) == mesh.ranks());
  mesh.experts = 2;
  CHECK(mesh.peers(axes::expert, 5) == std::vector{4, 5});
  mesh.experts = 8;
  CHECK(mesh.peers(axes::expert, 5) == std::vector{0, 1, 2, 3, 4, 5, 6, 7});
}

TEST_CASE("experts are shared by neighbours, however shards lie") {
  Mesh mesh{8, 4};
  mesh.experts = 2;
  CHECK(mesh.peers(axes::expert, 5) == std::vector{4, 5});
  CHECK(mesh.peers(axes::expert_replica, 5) == std::vector{1, 3, 5, 7});
  CHECK(mesh.peers(axes::shard, 5) == std::vector{4, 5, 6, 7});
  mesh.experts = 8;
  CHECK(mesh.significant(axes::expert) == mesh.significant(axes::all));
}

TEST_CASE("ranks that share a batch are neighbours among those with rows of their own") {
  Mesh mesh(16, 4);
  mesh.context = 2;
  mesh.tensor = 2;
  CHECK(mesh.row_ranks() == 8);
  CHECK(mesh.batches() == 4);
  CHECK(mesh.peers(axes::context, 5) == std::vector{5, 7});
  CHECK(mesh.peers(axes::batch, 5) == std::vector{1, 5, 9, 13});
  CHECK(mesh.peers(axes::shard, 5) == std::vector{1, 3, 5, 7});
  CHECK(mesh.peers(axes::replica, 5) == std::vector{5, 13});
  CHECK(mesh.peers(axes::data, 4) == std::vector{0, 2, 4, 6, 8, 10, 12, 14});
  for (int rank = 0; rank < 16; ++rank) {
    CHECK(mesh.batch_of(rank) == mesh.place(axes::batch, rank));
    CHECK(mesh.place(axes::context, rank) == rank / 2 % 2);
  }
  mesh.context = 8;  // more than share shards
  CHECK(mesh.peers(axes::context, 4) == std::vector{0, 2, 4, 6, 8, 10, 12, 14});
  CHECK(mesh.size(axes::batch) == 1);
  mesh = Mesh(12, 4);
  mesh.experts = 2;
  mesh.context = 4;
  CHECK(mesh.peers(axes::context, 5) == std::vector{4, 5, 6, 7});
  CHECK(mesh.peers(axes::expert, 5) == std::vector{4, 5});
  CHECK(mesh.peers(axes::expert_replica, 5) == std::vector{1, 3, 5, 7, 9, 11});
  CHECK(mesh.peers(axes::batch, 5) == std::vector{1, 5, 9});
  mesh.context = 3;
  CHECK_THROWS_AS(mesh.dimensions(), trainx::InternalError);
}

TEST_CASE("stages are the outermost, and what ranks of one stage share stays within it") {
  Mesh mesh(24, 2);
  mesh.pipeline = 3;
  mesh.context = 2;
  mesh.tensor = 2;
  CHECK(mesh.stage_ranks() == 8);
  CHECK(mesh.row_ranks() == 4);
  CHECK(mesh.batches() == 2);
  CHECK(mesh.peers(axes::stage, 13) == std::vector{5, 13, 21});
  CHECK(mesh.peers(axes::of_stage, 13) == std::vector{8, 9, 10, 11, 12, 13, 14, 15});
  CHECK(mesh.peers(axes::tensor, 13) == std::vector{12, 13});
  CHECK(mesh.peers(axes::context, 13) == std::vector{13, 15});
  CHECK(mesh.peers(axes::shard, 13) == std::vector{13, 15});
  CHECK(mesh.peers(axes::data, 13) == std::vector{9, 11, 13, 15});
  CHECK(mesh.peers(axes::all, 13).size() == 24);
  for (int rank = 0; rank < mesh.ranks(); ++rank) {
    CAPTURE(rank);
    CHECK(mesh.stage_of(rank) == rank / 8);
    CHECK(mesh.place(axes::stage, rank) == mesh.stage_of(rank));
    CHECK(mesh.batch_of(rank) == mesh.place(axes::batch, rank));
    // stages of one batch have it all
    for (const int other : mesh.peers(axes::stage, rank))
      CHECK(mesh.batch_of(other) == mesh.batch_of(rank));
  }
  CHECK(mesh.size(axes::stage) * mesh.size(axes::of_stage) == mesh.ranks());
  CHECK(mesh.among_neighbours(axes::stage, 8) == 1);
  CHECK(mesh.among_neighbours(axes::stage, 16) == 2);
  mesh.experts = 4;
  CHECK(mesh.peers(axes::expert, 13) == std::vector{12, 13, 14, 15});
  CHECK(mesh.peers(axes::expert_replica, 13) == std::vector{9, 13});
  CHECK(name_of(axes::stage) == "stages");
  CHECK(Mesh(4, 1).significant(axes::stage).is_empty());
}

}  // namespace mesh_test
