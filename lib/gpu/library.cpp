#include "gpu/library.hpp"
#include <dlfcn.h>
#include "gpu/gpu_error.hpp"

namespace trainx::gpu {

Library::Library(const std::string& soname, const std::string& purpose)
    : soname_(soname), handle_(::dlopen(soname.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD)) {
  if (!handle_) handle_ = ::dlopen(soname.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle_) return;
  const char* words = ::dlerror();
  throw GpuError(ExitCode::unavailable, soname + ", which the GPU's " + purpose + " need, cannot be loaded (" + (words ? words : "no reason given") +
                                            "); `pip install torch==2.11.0` brings it, or name its folder in LD_LIBRARY_PATH");
}

void* Library::symbol(const char* name) const {
  if (void* found = ::dlsym(handle_, name)) return found;
  throw GpuError(ExitCode::unavailable,
                 soname_ + " has no function " + name + ": it is another version than trainx was built for; install the one of torch 2.11.0");
}

}  // namespace trainx::gpu
