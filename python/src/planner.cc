// The planner for Python: a JobPlan as dictionaries and strings. python/xylem/planning.py makes the typed
// objects that programs see.

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <optional>

#include "xylem/plan.h"

namespace py = pybind11;
using xylem::JobPlan;

namespace {

xylem::PlanOptions options(int hosts, std::map<std::string, std::string> settings, std::optional<bool> nvls,
                           bool collnet) {
  return {.hosts = hosts, .settings = std::move(settings), .nvls = nvls, .collnet = collnet};
}

py::dict dictOf(const xylem::PlannedGraph& graph) {
  return py::dict(py::arg("pattern") = graph.pattern, py::arg("bandwidth_intra") = graph.bandwidthIntra,
                  py::arg("bandwidth_inter") = graph.bandwidthInter, py::arg("type_intra") = graph.typeIntra,
                  py::arg("type_inter") = graph.typeInter, py::arg("channels") = graph.channels);
}

py::dict dictOf(const xylem::PlannedChoice& choice) {
  py::list candidates;
  for (const xylem::PlannedCandidate& candidate : choice.candidates)
    candidates.append(py::make_tuple(candidate.algorithm, candidate.protocol, candidate.microseconds));
  return py::dict(py::arg("algorithm") = choice.algorithm, py::arg("protocol") = choice.protocol,
                  py::arg("microseconds") = choice.microseconds, py::arg("channels") = choice.channels,
                  py::arg("warps") = choice.warps, py::arg("candidates") = candidates);
}

}  // namespace

// Planning takes seconds for large jobs, so other threads of Python run meanwhile.
PYBIND11_MODULE(_planner, module) {
  using Free = py::call_guard<py::gil_scoped_release>;
  py::register_exception<xylem::PlanError>(module, "PlanError", PyExc_ValueError);
  py::class_<JobPlan>(module, "JobPlan")
      .def_static(
          "of_file",
          [](const std::string& path, int hosts, std::map<std::string, std::string> settings,
             std::optional<bool> nvls, bool collnet) {
            return JobPlan::ofFile(path, options(hosts, std::move(settings), nvls, collnet));
          },
          Free())
      .def_static(
          "of_xml",
          [](const std::string& xml, int hosts, std::map<std::string, std::string> settings,
             std::optional<bool> nvls, bool collnet) {
            return JobPlan::ofXml(xml, options(hosts, std::move(settings), nvls, collnet));
          },
          Free())
      .def_static(
          "of_hosts",
          [](const std::vector<std::tuple<std::string, std::vector<int>, int>>& list,
             std::map<std::string, std::string> settings, std::optional<bool> nvls, bool collnet) {
            std::vector<xylem::JobHosts> hosts;
            for (const auto& [file, gpus, count] : list) hosts.push_back({file, gpus, count});
            return JobPlan::ofHosts(hosts, options(1, std::move(settings), nvls, collnet));
          },
          Free())
      .def("assumptions", &JobPlan::assumptions)
      .def("warnings", &JobPlan::warnings)
      .def("ranks", &JobPlan::ranks)
      .def("nodes", &JobPlan::nodes)
      .def("channels", &JobPlan::channels)
      .def("ring", &JobPlan::ring)
      .def("tree",
           [](const JobPlan& plan, int rank, int channel) {
             const xylem::PlannedTree tree = plan.tree(rank, channel);
             return py::make_tuple(tree.up, tree.down);
           })
      .def("choice", [](const JobPlan& plan, const std::string& collective,
                        std::uint64_t bytes) { return dictOf(plan.choice(collective, bytes)); })
      .def("ring_graph", [](const JobPlan& plan) { return dictOf(plan.ringGraph()); })
      .def("tree_graph", [](const JobPlan& plan) { return dictOf(plan.treeGraph()); })
      .def("json", &JobPlan::json, Free())
      .def("why", &JobPlan::why, Free())
      .def("diff", &JobPlan::diff, Free())
      .def("log", &JobPlan::log, Free());
}
