#pragma once
// Edits: changes to a machine or its settings, as a person writes them.
//
//   const Document host = completeForJob(readTopology("dgxh100.xml"));
//   const std::vector<Edit> edits = {parseEdit("remove net1"), parseEdit("set NCCL_ALGO=Ring")};
//   Edited after = applyEdits({host, settings}, edits);
//
//   remove DEVICE                     a GPU, a NET, a switch or a NUMA node, with all it holds
//   nvlink GPU GPU xN                 N NVLinks in both directions; nvswitch in place of the second GPU
//   move DEVICE numaN                 directly to the CPU of a NUMA node
//   move DEVICE switch BUSID          below a PCI switch
//   move DEVICE beside DEVICE         to the place of the other; `move nets beside gpus` spreads them
//   pair DEVICE with DEVICE           below a new PCI switch of their own; `pair nets with gpus` groups all
//   add switch above DEVICE           a new PCI switch between the device and its place
//   width DEVICE xN                   the lanes of its PCI link
//   speed DEVICE GTS                  the speed of a lane: 2.5, 5, 8, 16, 32 or 64 GT/s
//   bandwidth DEVICE N                GB/s of its link, in place of NCCL's rule; of `cpus`: between them
//   gdr DEVICE on|off                 GPU Direct RDMA, of a NET or a GPU
//   netspeed NET N                    Mb/s, or Gb/s as 400G
//   guid NET own                      a hardware id of its own, so that it shares no port
//   set NAME=VALUE, unset NAME        a variable
//
// `gpus`, `nets` and `switches` stand for all devices of a kind. Each edit applies to the machine that the
// edits before it left.

#include <span>
#include <string>
#include <string_view>

#include "core/settings.h"
#include "planner/topology/document.h"

namespace xylem::whatif {

enum class EditKind {
  kRemove,
  kNvlink,
  kMove,
  kPair,
  kAddSwitch,
  kWidth,
  kSpeed,
  kBandwidth,
  kGdr,
  kNetSpeed,
  kGuid,
  kSet,
  kUnset
};
enum class MoveTo { kNuma, kSwitch, kBeside };

struct Edit {
  EditKind kind = EditKind::kRemove;
  std::string text;    // as written, with single blanks
  std::string device;  // or the variable's name
  std::string other;   // the second device of an NVLink or a pair, or the place of a move
  MoveTo to = MoveTo::kNuma;
  int number = 0;     // links, lanes, Mb/s; 1 or 0 for on and off
  std::string value;  // of a variable; the speed of a link, as "16.0 GT/s PCIe"; GB/s
};

// Does not look devices up: applyEdits() does. Throws InputError that shows the form of the edit.
Edit parseEdit(std::string_view text);

// The forms of edits, for help and error messages.
struct EditForm {
  EditKind kind;
  const char* form;
  const char* help;
};
std::span<const EditForm> editForms();

struct Edited {
  topology::Document document;  // has ranks: completeForJob() made it
  Settings settings;
};

// Throws InputError for a device or a variable that does not exist; the message lists those that do.
Edited applyEdits(Edited start, std::span<const Edit> edits);

}  // namespace xylem::whatif
