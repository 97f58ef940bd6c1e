#pragma once
// A library loaded at run time, because it may not be installed.
//
//   if (const SharedLibrary nvml("libnvidia-ml.so.1"); nvml)
//     if (auto* init = nvml.function<int()>("nvmlInit_v2")) init();

#include <dlfcn.h>

#include <string>
#include <utility>

namespace xylem {

class SharedLibrary {
 public:
  // kOwned: unloaded with its last owner; kForEver: stays loaded until the process ends.
  enum class Stay { kOwned, kForEver };

  // An empty name is the program itself.
  explicit SharedLibrary(const std::string& name, Stay stay = Stay::kOwned)
      : handle_(dlopen(name.empty() ? nullptr : name.c_str(),
                       RTLD_NOW | RTLD_LOCAL | (stay == Stay::kForEver ? RTLD_NODELETE : 0))) {
    if (handle_ != nullptr) return;
    const char* text = dlerror();
    error_ = text == nullptr ? "" : text;
  }
  ~SharedLibrary() {
    if (handle_ != nullptr) dlclose(handle_);
  }
  SharedLibrary(const SharedLibrary&) = delete;
  SharedLibrary& operator=(const SharedLibrary&) = delete;

  explicit operator bool() const { return handle_ != nullptr; }
  // Why it could not be loaded.
  const std::string& error() const { return error_; }

  // Null if the library does not have it.
  template <typename Signature>
  Signature* function(const char* name) const {
    return reinterpret_cast<Signature*>(object(name));
  }
  void* object(const char* name) const { return handle_ == nullptr ? nullptr : dlsym(handle_, name); }

 private:
  void* handle_;
  std::string error_;
};

}  // namespace xylem
