#include "execute/arena.hpp"
#include "core/error.hpp"
#include "core/units.hpp"
#include <sys/mman.h>
#include <unistd.h>

namespace trainx::execute {

Arena::Arena(std::int64_t bytes) : bytes_(bytes) {
  void* p = mmap(nullptr, static_cast<std::size_t>(bytes), PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED)
    throw UserError(ExitCode::out_of_memory,
                    "the machine refuses the run's " + human_bytes(bytes) +
                        " of memory; lower batch.micro_batch_size or free memory");
  // Large pages where the system offers them: fewer address-translation misses in large matrices.
  // Advice only, so a refusal does not matter.
  madvise(p, static_cast<std::size_t>(bytes), MADV_HUGEPAGE);
  data_ = static_cast<std::byte*>(p);
}

void Arena::forget(std::span<std::byte> part) {
  const auto page = static_cast<std::int64_t>(sysconf(_SC_PAGESIZE));
  const std::int64_t from = part.data() - data_, to = from + static_cast<std::int64_t>(part.size()),
                     begin = (from + page - 1) / page * page, end = to / page * page;
  // a refusal leaves the pages as they are, which costs memory alone
  if (end > begin) madvise(data_ + begin, static_cast<std::size_t>(end - begin), MADV_DONTNEED);
}

Arena::~Arena() { munmap(data_, static_cast<std::size_t>(bytes_)); }

}  // namespace trainx::execute
