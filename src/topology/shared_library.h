#pragma once
// A library loaded at run time, for what may or may not be installed.
//
//   if (const SharedLibrary nvml("libnvidia-ml.so.1"); nvml)
//     if (auto* init = nvml.function<int()>("nvmlInit_v2")) init();

#include <dlfcn.h>

#include <string>
#include <utility>

namespace xylem {

class SharedLibrary {
 public:
  explicit SharedLibrary(const std::string& name) : handle_(dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) {}
  ~SharedLibrary() {
    if (handle_ != nullptr) dlclose(handle_);
  }
  SharedLibrary(const SharedLibrary&) = delete;
  SharedLibrary& operator=(const SharedLibrary&) = delete;

  explicit operator bool() const { return handle_ != nullptr; }

  // Null if the library does not have it.
  template <typename Signature>
  Signature* function(const char* name) const {
    return handle_ == nullptr ? nullptr : reinterpret_cast<Signature*>(dlsym(handle_, name));
  }

 private:
  void* handle_;
};

}  // namespace xylem
