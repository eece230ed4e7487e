#include "tensor/large_memory.hpp"
#include <ATen/Parallel.h>
#include <cstdint>
#include <cstring>

namespace trainx::tensor {
namespace {

constexpr std::int64_t least_bytes = std::int64_t{1} << 20;   // of a thread: less is over before others have begun

template <class Work>
void in_parts(std::size_t bytes, const Work& work) {
  at::parallel_for(0, static_cast<std::int64_t>(bytes), least_bytes, [&](std::int64_t begin, std::int64_t end) { work(begin, static_cast<std::size_t>(end - begin)); });
}

}  // namespace

void set_zero(std::byte* memory, std::size_t bytes) {
  in_parts(bytes, [&](std::int64_t begin, std::size_t count) { std::memset(memory + begin, 0, count); });
}

void copy(std::byte* to, const std::byte* from, std::size_t bytes) {
  in_parts(bytes, [&](std::int64_t begin, std::size_t count) { std::memcpy(to + begin, from + begin, count); });
}

}  // namespace trainx::tensor
