#pragma once
// The language of NCCL_ALGO and NCCL_PROTO: which names a person wants for which collective.
//
//   UserList list = parseUserList("ring;allreduce:^tree", kAlgorithmNames);
//   list.chosen(Collective::kAllReduce, 0)   ->   false: Tree is excluded for AllReduce
//
// Entries are separated by `;`, an entry is `[collective:]name,name…`, and `^` in front of the names means
// "all but". Case does not matter. Only the first entry may leave out the collective; it then holds for all.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/kinds.h"

namespace xylem {

// For each collective that an entry speaks of, whether each name is wanted; an empty list if none does.
using UserList = ByCollective<std::vector<bool>>;

// `names` are those that may stand in lists. `origin` says in messages whose text this is. Throws InputError.
UserList parseUserList(std::string_view text, std::span<const char* const> names, const std::string& origin);

}  // namespace xylem
