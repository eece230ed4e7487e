#pragma once
#include <string>

namespace trainx::launch {

/// What `worker argument` prints on stdout, given `input` on stdin. Asked once: kept in the cache
/// of facts until the worker's file is another (size, time of change) or the input is. Throws
/// UserError 69 where it cannot be started or ends otherwise than with 0, with its own last words.
std::string ask_worker(const std::string& worker, const std::string& argument,
                       const std::string& input);
/// The same, asked each time: of what may change while the worker does not.
std::string ask_worker_anew(const std::string& worker, const std::string& argument,
                            const std::string& input);

}  // namespace trainx::launch
