#pragma once
#include "core/refusals.hpp"
#include "tokenizer/tokenizer.hpp"
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <system_error>
#include <thread>

namespace trainx::corpus {

/// Threads with an encoder each, which live as long as this: what one has met it knows the next
/// time.
class Encoders {
 public:
  Encoders(const tokenizer::Tokenizer& tokenizer, int threads) {
    for (int i = 0; i < threads; ++i) encoders_.push_back(tokenizer.make_encoder());
  }
  std::int64_t threads() const { return static_cast<std::int64_t>(encoders_.size()); }

  /// Calls `work(i, encoder)` for i in [0, count), the lowest first, several at a time. What one
  /// throws ends the others and is rethrown, that of the lowest i.
  void for_each(std::int64_t count,
                const std::function<void(std::int64_t, tokenizer::Encoder&)>& work) {
    std::atomic<std::int64_t> next{0};
    std::vector<std::pair<std::int64_t, std::exception_ptr>> problems(encoders_.size(),
                                                                      {count, nullptr});
    const auto run = [&](std::size_t thread) {
      for (std::int64_t i = next++; i < count; i = next++) {
        try {
          work(i, *encoders_[thread]);
        } catch (const std::exception&) {
          problems[thread] = {i, std::current_exception()};
          next = count;
        }
      }
    };
    std::vector<std::thread> threads;
    try {
      for (std::size_t t = 1; t < encoders_.size() && static_cast<std::int64_t>(t) < count; ++t)
        threads.emplace_back(run, t);
    } catch (const std::system_error&) {
      // fewer threads, this one at least, do all of it
    }
    run(0);
    for (std::thread& thread : threads) thread.join();
    const auto first =
        std::ranges::min_element(problems, {}, &std::pair<std::int64_t, std::exception_ptr>::first);
    if (first != problems.end() && first->second) std::rethrow_exception(first->second);
  }

  /// The same, but what data is refused for (65) ends no other work: all of it is thrown at the
  /// end, in order.
  void for_each_telling_all(std::int64_t count,
                            const std::function<void(std::int64_t, tokenizer::Encoder&)>& work) {
    std::map<std::int64_t, UserError> refused;
    std::mutex mutex;
    for_each(count, [&](std::int64_t i, tokenizer::Encoder& encoder) {
      try {
        work(i, encoder);
      } catch (const UserError& refusal) {
        if (refusal.code() != ExitCode::bad_data) throw;
        const std::lock_guard lock(mutex);
        refused.emplace(i, refusal);
      }
    });
    Refusals all;
    for (const auto& [i, refusal] : refused) all.add(refusal);
    all.throw_all();
  }

 private:
  std::vector<std::unique_ptr<tokenizer::Encoder>> encoders_;
};

}  // namespace trainx::corpus
