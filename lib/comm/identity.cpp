#include "comm/identity.hpp"
#include "core/files.hpp"
#include "core/hash.hpp"
#include "core/process.hpp"
#include <unistd.h>

namespace trainx::comm {

std::string Identity::name() const {
  return "rank " + std::to_string(rank) + " (host " + host + ", pid " + std::to_string(pid) + ")";
}

Identity own_identity(const Membership& membership, std::string device,
                      const std::map<std::string, std::string>& equal_on_all) {
  Identity i{.rank = membership.rank,
             .world_size = membership.world_size,
             .pid = ::getpid(),
             .host = host_name(),
             .device = std::move(device)};
  i.boot_id = read_file("/proc/sys/kernel/random/boot_id");
  for (const auto& [key, value] : equal_on_all) i.equal_on_all[key] = hash_hex(value);
  return i;
}

void write(ByteWriter& out, const Identity& i) {
  out.put(i.rank)
      .put(i.world_size)
      .put(i.pid)
      .put(i.host)
      .put(i.boot_id)
      .put(i.device)
      .put(i.address)
      .put(static_cast<std::int64_t>(i.equal_on_all.size()));
  for (const auto& [key, hash] : i.equal_on_all) out.put(key).put(hash);
}

Identity read_identity(ByteReader& in) {
  Identity i;
  i.rank = static_cast<int>(in.integer());
  i.world_size = static_cast<int>(in.integer());
  i.pid = in.integer();
  i.host = in.text();
  i.boot_id = in.text();
  i.device = in.text();
  i.address = in.text();
  for (std::int64_t left = in.integer(); left > 0; --left) {
    std::string key = in.text();
    i.equal_on_all[std::move(key)] = in.text();
  }
  return i;
}

}  // namespace trainx::comm
