// Where modules of the user's own compute: LibTorch's operators on the CPU, or on the GPU's stream
// with memory that is planned for them.
#pragma once
#include <functional>
#include <string>

namespace c10 {
struct Device;
}

namespace trainx::operations {

/// Runs f inside an instruction: on the GPU of this thread's GpuScope where there is one. `doing`:
/// "module 'x'", which a request for too much memory names.
void on_module_device(const std::string& doing, const std::function<void()>& f);

/// Runs f between steps, and waits for what it launched: on the GPU whose modules this process has
/// memory for, if any. `doing` as above.
void between_steps_on_module_device(const std::string& doing, const std::function<void()>& f);

/// The GPU whose modules this process has memory for; else the CPU.
c10::Device module_device();

namespace cuda {
void on_module_device(const std::string& doing, const std::function<void()>& f);
void between_steps_on_module_device(const std::string& doing, const std::function<void()>& f);
c10::Device module_device();
}  // namespace cuda

}  // namespace trainx::operations
