// The way of a collective's bytes between ranks of one host, and of several.
#pragma once
#include "program/program.hpp"
#include "program/time.hpp"
#include <cstdint>

namespace trainx::program {

/// Ranks of a collective, host after host, each of which sends to the next one.
struct Ring {
  std::int64_t ranks = 1;
  std::int64_t ranks_of_a_host = 1;  // of this ring
  // that go on at the same time, and share a host's network: those of the other shards, or groups
  std::int64_t rings_of_a_host = 1;
  double passes = 0;       // each byte takes so many of the ring's links, on average of each
  bool exchanges = false;  // all_to_all: each rank sends each other one a slot, round no ring

  bool spans_hosts() const { return ranks_of_a_host < ranks; }
  /// Of `bytes` in each ring: what all rings of a host send from rank to rank within it, and to the
  /// next host.
  double within_a_host(double bytes) const;
  double to_next_host(double bytes) const;
  /// Until the slower of both has passed, and before that the first bytes. A host's network is that
  /// of all its ranks together.
  double seconds(double bytes, const Rates& rates) const;

 private:
  double slots_sent_within() const;
};

/// Of a reduce, broadcast, scatter, gather or all_to_all. `ranks_per_host` divides the ranks; 0:
/// all.
Ring ring_of(const Instruction& i, const StepProgram& p, std::int64_t ranks_per_host);

}  // namespace trainx::program
