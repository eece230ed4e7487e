#include "facts/host_update_rate.hpp"
#include "core/descriptor.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "core/process.hpp"
#include "facts/cache.hpp"
#include "facts/memory.hpp"
#include "facts/memory_bandwidth.hpp"
#include <fcntl.h>
#include <sys/file.h>
#include <fstream>
#include <iterator>

namespace trainx::facts {
namespace {

std::string path_of_update_cache() {
  const std::string folder = cache_folder();
  return folder.empty() ? folder : folder + "/host_updates.json";
}

/// What a rate holds for: this boot of this host, and so many of its cores.
std::string state_of_updates(std::int64_t threads) {
  std::ifstream boot("/proc/sys/kernel/random/boot_id");
  return host_name() + " " + std::string{std::istreambuf_iterator<char>(boot), {}} +
         std::to_string(threads);
}

/// Ranks that begin together would measure each other. Without a lock, where none can be had, they
/// do.
Descriptor waited_for_turn() {
  Descriptor lock;
  if (path_of_update_cache().empty()) return lock;
  try {
    make_folders(cache_folder());
  } catch (const UserError&) { return lock; }
  lock = Descriptor(
      ::open((path_of_update_cache() + ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (lock.is_open()) ::flock(lock.get(), LOCK_EX);
  return lock;
}

}  // namespace

void remember_host_update_rate(double bytes_per_second, std::int64_t threads) {
  if (path_of_update_cache().empty()) return;
  try {
    make_folders(cache_folder());
    write_file_atomic(
        path_of_update_cache(),
        Json{{"state", state_of_updates(threads)}, {"bytes_per_second", bytes_per_second}}.dump(
            -1, ' ', false, Json::error_handler_t::replace));
  } catch (const UserError&) {
    return;  // measured again by the next who asks
  }
}

double remembered_host_update_rate(std::int64_t threads) {
  std::ifstream in(path_of_update_cache(), std::ios::binary);
  const Json kept =
      Json::parse(std::string{std::istreambuf_iterator<char>(in), {}}, nullptr, false);
  if (!kept.is_object() || kept.value("state", Json()) != state_of_updates(threads)) return 0;
  const auto rate = kept.find("bytes_per_second");
  return rate != kept.end() && rate->is_number() && *rate > 0 ? rate->get<double>() : 0;
}

double known_host_update_rate(std::int64_t threads) {
  if (const double kept = remembered_host_update_rate(threads); kept > 0) return kept;
  const Descriptor turn = waited_for_turn();
  if (const double kept = remembered_host_update_rate(threads); kept > 0) return kept;
  const Roots roots;
  const MemoryBandwidthFacts measured = measure_memory_bandwidth(
      threads, triad_array_bytes(roots.sys, detect_memory(roots).free_bytes.value_or(0)));
  const double rate = measured.in_place_bytes_per_second.value_or(0);
  if (rate > 0) remember_host_update_rate(rate, threads);
  return rate;
}

}  // namespace trainx::facts
