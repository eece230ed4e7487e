#include "data/labelled/parallel_lines.hpp"
#include <algorithm>
#include <exception>
#include <system_error>
#include <thread>
#include <vector>

namespace trainx::data::labelled {

void for_each_range(std::int64_t count,
                    const std::function<void(std::int64_t, std::int64_t)>& work) {
  constexpr std::int64_t worth_a_thread = 2048;  // lines: milliseconds of parsing
  const std::int64_t cores = std::max<std::int64_t>(1, std::thread::hardware_concurrency());
  const std::int64_t ranges = std::clamp<std::int64_t>(count / worth_a_thread, 1, cores);
  if (ranges == 1) return work(0, count);
  std::vector<std::exception_ptr> problems(static_cast<std::size_t>(ranges));
  std::vector<std::thread> threads;
  const auto run = [&](std::int64_t r) {
    try {
      work(count * r / ranges, count * (r + 1) / ranges);
    } catch (const std::exception&) {
      problems[static_cast<std::size_t>(r)] = std::current_exception();
    }
  };
  for (std::int64_t r = 0; r < ranges; ++r) {
    try {
      threads.emplace_back(run, r);
    } catch (const std::system_error&) { run(r); }  // no thread is to be had
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& problem : problems)
    if (problem) std::rethrow_exception(problem);
}

}  // namespace trainx::data::labelled
