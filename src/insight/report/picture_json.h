#pragma once
// A picture as JSON, for the page's script and for other programs. Later versions of the format
// `xylem-picture-1` only add fields:
//
//   {"format": "xylem-picture-1", "title": "dgxh100.xml", "summary": "…", "settings": {"NCCL_…": "…"},
//    "hosts": [{"title": "hosts 0 to 1", "rank": 0,
//      "nodes": [{"type": "GPU", "label": "GPU 0", "detail": "…", "used": true, "source": "a.xml:7  …"}],
//      "links": [{"a": 0, "b": 3, "type": "PCI", "bandwidth": [24.0, 24.0], "source": "…"}],
//      "graphs": [{"name": "ring", "pattern": "RING", "bwIntra": 48.0, …, "used": [[12.0, 0], …],
//        "full": [[link, lane, GB/s left, GB/s that a further channel wants], …],
//        "channels": [[{"from": 0, "to": 1, "type": "NVL", "bandwidth": 370.8, "carries": 48.0,
//                       "hops": [[link, lane], …], "takes": [[link, lane, GB/s], …]}, …], …]}],
//      "reach": {"rows": [node, …], "columns": […], "gpusLeftOut": 0, "reasons": ["…"],
//        "cells": [[{"way": "P2P", "direct": true, "type": "NVL", "bandwidth": 370.8,
//                    "reasons": [number of a reason, …]} or null, …], …]}}],
//    "job": {"ranks": 16, …, "nodeOfRank": […], "rings": [{"channels": […], "ranks": […]}],
//      "crossings": [{"ring": 0, "from": 7, "to": 8, "way": "NET", "fromNet": "NET 7 (mlx5_7)", "fromGdr": true, …}],
//      "trees": [{"channels": […], "up": [by rank], "depth": [by rank]}]},
//    "sizes": [8, 12, …],
//    "tuning": [{"collective": "AllReduce",
//      "curves": [{"name": "Ring/LL", "time": [us by size], "bus": [GB/s]}],
//      "stretches": [{"first": 1, "last": 65536, "curve": 0, …}], "excluded": ["…"]}],
//    "upgrade": {"from": "2.27.7", "to": "2.30.7", "causes": [{"name": "…", "back": "…"}], "times": […]},   (if asked for)
//    "optimality": [{"what": "…", "achieved": 48.0, "bound": 50.0, "cut": "…"}],
//    "answers": [{"format": "xylem-why-1", …}]}
//
// Nodes and links are referred to by index; lane 0 of a link goes from `a` to `b`.

#include <nlohmann/json_fwd.hpp>

#include "insight/report/picture.h"

namespace xylem::report {

nlohmann::ordered_json toJson(const Picture& picture);

}  // namespace xylem::report
