// libibverbs and libmlx5 of a made-up machine: mlx5_0 has a data-direct device and takes DMA-BUF, mlx5_1 has one and does not,
// mlx5_2 is lost, and efa_0 is another maker's. The ports of mlx5_0 and efa_0 tell their speeds.
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>

namespace {

const char* kNames[] = {"mlx5_0", "mlx5_1", "mlx5_2", "efa_0"};
int freed = 0;

std::string nameOf(void* device) { return *static_cast<const char**>(device); }

}  // namespace

#define FAKE extern "C" __attribute__((visibility("default")))

FAKE void** ibv_get_device_list(int* count) {
  static void* devices[] = {&kNames[0], &kNames[1], &kNames[2], &kNames[3], nullptr};
  return *count = 4, devices;
}
FAKE void ibv_free_device_list(void**) { ++freed; }
FAKE const char* ibv_get_device_name(void* device) { return *static_cast<const char**>(device); }
FAKE void* ibv_open_device(void* device) { return nameOf(device) == "mlx5_2" ? nullptr : device; }
FAKE int ibv_close_device(void*) { return 0; }
FAKE void* ibv_alloc_pd(void* context) { return context; }
FAKE int ibv_dealloc_pd(void*) { return errno = 0, 0; }
FAKE void* ibv_reg_dmabuf_mr(void* domain, std::uint64_t, std::size_t, std::uint64_t, int file, int) {
  errno = file != -1 ? EINVAL : nameOf(domain) == "mlx5_0" ? EBADF : EOPNOTSUPP;
  return nullptr;
}
FAKE int ibv_query_port_speed(void* context, std::uint32_t port, std::uint64_t* speed) {
  if (port > 1 || nameOf(context) == "mlx5_1") return EOPNOTSUPP;
  return *speed = nameOf(context) == "efa_0" ? 1000 : 4000, 0;
}
FAKE bool mlx5dv_is_supported(void* device) { return nameOf(device).starts_with("mlx5"); }
FAKE int mlx5dv_get_data_direct_sysfs_path(void* context, char* path, std::size_t size) {
  const char* busId = nameOf(context) == "mlx5_0" ? "0000:05:00.0" : "0000:06:00.0";
  std::snprintf(path, size, "/devices/pci0000:00/%s", busId);
  return 0;
}
