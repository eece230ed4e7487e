#include "program/ring.hpp"
#include "support/catch.hpp"

namespace ring_test {

using namespace trainx::program;

namespace {

StepProgram of_ranks(int world, int shards) {
  StepProgram p;
  p.mesh = {world, shards};
  return p;
}

Instruction among(Op op, AxisSet axis) {
  Instruction i;
  i.op = op;
  i.along = axis;
  return i;
}

Rates links(double link, double network, std::int64_t ranks_per_host) {
  Rates rates;
  rates.link_bytes_per_s = link;
  rates.network_bytes_per_s = network;
  rates.ranks_per_host = ranks_per_host;
  return rates;
}

}  // namespace

TEST_CASE("on one host a ring has all ranks, and its bytes take the links alone") {
  const Ring ring = ring_of(among(Op::reduce, axes::all), of_ranks(4, 1), 0);
  CHECK_FALSE(ring.spans_hosts());
  CHECK(ring.passes == 1.5);  // 2 * 3 / 4
  CHECK(ring.within_a_host(100) == 600);
  CHECK(ring.to_next_host(100) == 0);
  CHECK(ring.seconds(100, links(50, 0, 0)) == 3);
}

TEST_CASE("a ring over hosts takes the slower of links and network, which all ranks share") {
  const Ring ring = ring_of(among(Op::gather, axes::all), of_ranks(8, 8), 4);
  CHECK(ring.spans_hosts());
  CHECK(ring.rings_of_a_host == 1);
  CHECK(ring.passes == 0.875);
  CHECK(ring.within_a_host(80) == 3 * 70);
  CHECK(ring.to_next_host(80) == 70);
  CHECK(ring.seconds(80, links(7, 100, 4)) == 10);
  CHECK(ring.seconds(80, links(700, 0.5, 4)) == 35);
}

TEST_CASE("hybrid: shards stay on a host, and those of one shard share the network with others") {
  const StepProgram p = of_ranks(64, 8);
  const Ring shards = ring_of(among(Op::scatter, axes::shard), p, 8);
  CHECK_FALSE(shards.spans_hosts());
  CHECK(shards.rings_of_a_host == 1);
  CHECK(shards.within_a_host(8) == 8 * 7);
  const Ring replicas = ring_of(among(Op::reduce, axes::replica), p, 8);
  CHECK(replicas.ranks == 8);
  CHECK(replicas.ranks_of_a_host == 1);
  CHECK(replicas.rings_of_a_host == 8);
  CHECK(replicas.within_a_host(8) == 0);
  CHECK(replicas.to_next_host(8) == 8 * 14);
  // 8 rings of 14 bytes by 8 adapters of 2 bytes a second; links take no part
  CHECK(replicas.seconds(8, links(1e-9, 2, 8)) == 7);
}

TEST_CASE("several shards' groups on a host, and a shard's group over several hosts") {
  const Ring two_on_a_host = ring_of(among(Op::reduce, axes::replica), of_ranks(8, 2), 4);
  CHECK(two_on_a_host.ranks_of_a_host == 2);
  CHECK(two_on_a_host.rings_of_a_host == 2);
  CHECK(two_on_a_host.to_next_host(4) == 2 * 1.5 * 4);
  const Ring wide = ring_of(among(Op::gather, axes::shard), of_ranks(16, 8), 4);
  CHECK(wide.ranks_of_a_host == 4);
  CHECK(wide.spans_hosts());
  CHECK(ring_of(among(Op::reduce, axes::replica), of_ranks(16, 8), 4).rings_of_a_host == 4);
}

TEST_CASE("a ring takes the latency of the network where it spans hosts, else that of the links") {
  Rates rates = links(700, 0.5, 4);
  rates.link_latency_s = 1;
  rates.network_latency_s = 5;
  const StepProgram p = of_ranks(8, 4);
  CHECK(ring_of(among(Op::gather, axes::all), p, 4).seconds(80, rates) == 40);
  CHECK(ring_of(among(Op::gather, axes::shard), p, 4).seconds(700, rates) == 1.75);
}

TEST_CASE("slots go straight to the ranks that they are for") {
  StepProgram p = of_ranks(8, 1);
  p.mesh.experts = 4;
  const Ring here = ring_of(among(Op::all_to_all, axes::expert), p, 0);
  CHECK(here.ranks == 4);
  CHECK(here.rings_of_a_host == 2);
  CHECK(here.within_a_host(80) == 2 * 4 * 60);  // three of four slots of 20
  CHECK(here.to_next_host(80) == 0);
  CHECK(here.seconds(80, links(30, 0, 0)) == 2);
  const Ring apart = ring_of(among(Op::all_to_all, axes::expert), p, 2);
  CHECK(apart.within_a_host(80) == 2 * 20);
  CHECK(apart.to_next_host(80) == 2 * 40);
  CHECK(apart.seconds(80, links(20, 10, 2)) == 4);  // 80 bytes by 2 * 10 per second
  const Ring replicas = ring_of(among(Op::reduce, axes::expert_replica), p, 4);
  CHECK(replicas.ranks == 2);
  CHECK(replicas.ranks_of_a_host == 1);
}

}  // namespace ring_test
