#include "gpu/library.hpp"
#include <dlfcn.h>
#include <link.h>
#include "gpu/gpu_error.hpp"

namespace trainx::gpu {

Library::Library(const std::string& soname, const std::string& purpose)
    : soname_(soname), handle_(::dlopen(soname.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD)) {
  if (!handle_) handle_ = ::dlopen(soname.c_str(), RTLD_NOW | RTLD_LOCAL);
  require_loaded(purpose);
}

Library::Library(const std::string& loaded, const std::string& soname, const std::string& purpose)
    : soname_(soname), handle_(nullptr) {
  link_map* neighbour = nullptr;
  void* const known = ::dlopen(loaded.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  std::string folder;
  if (known && ::dlinfo(known, RTLD_DI_LINKMAP, &neighbour) == 0) folder = neighbour->l_name;
  if (known) ::dlclose(known);  // it was loaded before, and stays so
  folder.resize(folder.find_last_of('/') + 1);
  handle_ = ::dlopen((folder + soname).c_str(), RTLD_NOW | RTLD_LOCAL);
  require_loaded(purpose);
}

std::string Library::path() const {
  link_map* map = nullptr;
  return ::dlinfo(handle_, RTLD_DI_LINKMAP, &map) == 0 ? map->l_name : soname_;
}

void Library::require_loaded(const std::string& purpose) const {
  if (handle_) return;
  const char* words = ::dlerror();
  throw GpuError(
      ExitCode::unavailable,
      soname_ + ", which the GPU's " + purpose + " need, cannot be loaded (" +
          (words ? words : "no reason given") +
          "); `pip install torch==2.11.0` brings it, or name its folder in LD_LIBRARY_PATH");
}

void* Library::symbol(const char* name) const {
  if (void* found = ::dlsym(handle_, name)) return found;
  throw GpuError(
      ExitCode::unavailable,
      soname_ + " has no function " + name +
          ": it is another version than trainx was built for; install the one of torch 2.11.0");
}

}  // namespace trainx::gpu
