// The extension module xylem.torch._backend.

#include <pybind11/chrono.h>
#include <torch/csrc/utils/pybind.h>

#include "torch/process_group.h"
#include "torch/shared_allocator.h"

namespace py = pybind11;
using xylem::torch::ProcessGroupXylem;

PYBIND11_MODULE(_backend, module) {
  // The base class's Python type, and the store's.
  py::module_::import("torch.distributed");
  py::class_<ProcessGroupXylem, c10d::ProcessGroup, c10::intrusive_ptr<ProcessGroupXylem>>(
      module, "ProcessGroupXylem")
      .def(py::init<const c10::intrusive_ptr<c10d::Store>&, int, int, std::chrono::milliseconds>(),
           py::call_guard<py::gil_scoped_release>());
  module.def("set_device", &xylem::torch::setProcessDevice);
  module.def("install_allocator", &xylem::torch::installSharedAllocator);
  module.def("use_shared_memory", &xylem::torch::useSharedMemory);
  module.def("uses_shared_memory", &xylem::torch::usesSharedMemory);
  module.def("is_exposed", [](std::uintptr_t address) {
    return xylem::torch::isExposed(reinterpret_cast<const void*>(address));
  });
}
