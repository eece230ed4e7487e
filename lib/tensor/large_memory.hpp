// Of memory that one thread would take seconds for: by all that the rank may use.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>

namespace trainx::tensor {

/// Of a thread: less is over before others have begun.
constexpr std::int64_t least_bytes = std::int64_t{1} << 20;

/// Calls work(begin, end) for parts of [0, n), side by side where they are of `least` or more.
void for_parts(std::int64_t n, std::int64_t least,
               const std::function<void(std::int64_t begin, std::int64_t end)>& work);
/// While it lives, this thread does such work alone: beside others, which compute.
class OneThread {
 public:
  OneThread();
  ~OneThread();
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;
};

void set_zero(std::byte* memory, std::size_t bytes);
void copy(std::byte* to, const std::byte* from, std::size_t bytes);

}  // namespace trainx::tensor
