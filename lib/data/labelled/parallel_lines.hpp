#pragma once
#include <cstdint>
#include <functional>

namespace trainx::data::labelled {

/// Calls `work(begin, end)` for neighbouring ranges that make up [0, count), from several threads
/// where there is enough to do. What a range throws is rethrown, that of the first range where
/// several do.
void for_each_range(std::int64_t count,
                    const std::function<void(std::int64_t begin, std::int64_t end)>& work);

}  // namespace trainx::data::labelled
