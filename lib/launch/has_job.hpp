#pragma once

namespace trainx::launch {

/// Did a launcher start this process as a worker? Before receive_job, which takes the job.
bool has_job();

}  // namespace trainx::launch
