#include "tensor/large_memory.hpp"
#include "tensor/parallel.hpp"
#include <cstring>

namespace trainx::tensor {
namespace {

thread_local int alone = 0;  // OneThreads that live

}  // namespace

OneThread::OneThread() { ++alone; }
OneThread::~OneThread() { --alone; }

void for_parts(std::int64_t n, std::int64_t least,
               const std::function<void(std::int64_t, std::int64_t)>& work) {
  if (n == 0) return;
  if (alone > 0) return work(0, n);
  tensor::parallel_for(0, n, least, work);
}

void set_zero(std::byte* memory, std::size_t bytes) {
  for_parts(static_cast<std::int64_t>(bytes), least_bytes,
            [&](std::int64_t begin, std::int64_t end) {
              std::memset(memory + begin, 0, static_cast<std::size_t>(end - begin));
            });
}

void copy(std::byte* to, const std::byte* from, std::size_t bytes) {
  for_parts(static_cast<std::int64_t>(bytes), least_bytes,
            [&](std::int64_t begin, std::int64_t end) {
              std::memcpy(to + begin, from + begin, static_cast<std::size_t>(end - begin));
            });
}

}  // namespace trainx::tensor
