// Who a rank is, as it says when it joins.
#pragma once
#include "comm/bytes.hpp"
#include "comm/membership.hpp"
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace trainx::comm {

struct Identity {
  int rank = 0, world_size = 1;
  std::int64_t pid = 0;
  std::string host, boot_id;  // the name for people, and what tells hosts apart
  std::string device;
  // hashes of the values: their sizes are nobody's concern
  std::map<std::string, std::string> equal_on_all;
  std::string address;  // by which other hosts reach it; rank 0 fills it in

  /// "rank 2 (host b, pid 77)"
  std::string name() const;
};

/// Of this process.
Identity own_identity(const Membership& membership, std::string device,
                      const std::map<std::string, std::string>& equal_on_all);

void write(ByteWriter& out, const Identity& identity);
Identity read_identity(ByteReader& in);

}  // namespace trainx::comm
