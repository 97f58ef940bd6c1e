#pragma once
// One change to a machine or to a setting, as a person writes it.
//
//   Edit edit = parseEdit("move gpu3 numa1");      // what it means; devices are looked up when it is applied
//
//   remove DEVICE                     a GPU, a NET, a switch or a NUMA node, with all it holds
//   nvlink GPU GPU xN                 so many NVLinks in both directions; nvswitch in place of the second GPU
//   move DEVICE numaN                 directly to the CPU of a NUMA node
//   move DEVICE switch BUSID          below a PCI switch
//   move DEVICE beside DEVICE         where the other is; `move nets beside gpus` spreads them
//   width DEVICE xN                   lanes of its PCI link
//   speed DEVICE GTS                  of a lane: 2.5, 5, 8, 16, 32 or 64 GT/s
//   gdr DEVICE on|off                 GPU Direct RDMA, of a NET or a GPU
//   netspeed NET N                    Mb/s, or Gb/s as 400G
//   guid NET own                      a hardware id of its own: it shares no port
//   set NAME=VALUE, unset NAME        a variable
//
// `gpus`, `nets` and `switches` stand for all of a kind.

#include <span>
#include <string>
#include <string_view>

namespace xylem {

enum class EditKind { kRemove, kNvlink, kMove, kWidth, kSpeed, kGdr, kNetSpeed, kGuid, kSet, kUnset };
enum class MoveTo { kNuma, kSwitch, kBeside };

struct Edit {
  EditKind kind = EditKind::kRemove;
  std::string text;    // as written, with single blanks
  std::string device;  // or the variable's name
  std::string other;   // the second device: of an NVLink, of a move
  MoveTo to = MoveTo::kNuma;
  int number = 0;     // links, lanes, Mb/s; 1 or 0 for on and off
  std::string value;  // of a variable; "16.0 GT/s PCIe"
};

// Throws InputError that says how edits are written.
Edit parseEdit(std::string_view text);

// How edits are written, for help and messages.
struct EditForm {
  EditKind kind;
  const char* form;
  const char* help;
};
std::span<const EditForm> editForms();

}  // namespace xylem
