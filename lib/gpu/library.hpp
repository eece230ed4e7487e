#pragma once
#include <string>

namespace trainx::gpu {

/// A shared library found when it is first needed, so that machines without it start all the same;
/// it stays loaded until the process ends.
class Library {
 public:
  /// The one that this process has already (LibTorch's), else one of the run path or the system's.
  /// `purpose`: "matrix products". Throws GpuError 69.
  Library(const std::string& soname, const std::string& purpose);
  /// The one in the folder where `loaded`, which this process has, was loaded from.
  Library(const std::string& loaded, const std::string& soname, const std::string& purpose);
  void* handle() const { return handle_; }
  /// The file that was loaded.
  std::string path() const;

  template <class Function>
  Function* function(const char* name) const {
    return reinterpret_cast<Function*>(symbol(name));
  }

 private:
  void* symbol(const char* name) const;
  void require_loaded(const std::string& purpose) const;

  std::string soname_;
  void* handle_;
};

}  // namespace trainx::gpu
