// Loops over LibTorch's threads, without its headers.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace trainx::tensor {

/// Calls `call(work, begin, end)` for parts of [begin, end) of at least `grain`, one a thread; in a
/// part of another loop once, for all of it. Exceptions of a part are thrown here.
void run_parts(std::int64_t begin, std::int64_t end, std::int64_t grain, const void* work,
               void (*call)(const void* work, std::int64_t begin, std::int64_t end));
/// Most parts that there are, and which one this thread computes.
std::size_t most_parts();
std::size_t this_part();

/// Calls work(begin, end) for parts of [begin, end), as at::parallel_for.
template <class Work>
void parallel_for(std::int64_t begin, std::int64_t end, std::int64_t grain, const Work& work) {
  run_parts(begin, end, grain, &work, [](const void* w, std::int64_t from, std::int64_t to) {
    (*static_cast<const Work*>(w))(from, to);
  });
}

/// work(begin, end, identity) of all parts, combined in their order: as at::parallel_reduce.
template <class T, class Work, class Combine>
T parallel_reduce(std::int64_t begin, std::int64_t end, std::int64_t grain, const T& identity,
                  const Work& work, const Combine& combine) {
  std::vector<T> results(most_parts(), identity);
  parallel_for(begin, end, grain, [&](std::int64_t from, std::int64_t to) {
    results[this_part()] = work(from, to, identity);
  });
  T all = identity;
  for (const T& result : results) all = combine(all, result);
  return all;
}

}  // namespace trainx::tensor
