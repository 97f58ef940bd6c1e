#!/usr/bin/env bash
# Runs net_speed.sh over one network after the other, in turns: sockets, libfabric's tcp and shm, and Xylem's sockets as a
# net plugin. Each table has its own bare connection beside it: compare networks by `of bare`.
#
#   bench/net_kinds.sh [ROUNDS [BYTES]]                as net_speed.sh
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
build=${XYLEM_BUILD:-build/release}

table() {
  local what=$1
  shift
  printf '\n%s\n\n' "$what"
  env "${@}" bench/net_speed.sh "${arguments[@]}"
}

arguments=("$@")
table "Sockets" NCCL_NET=Socket
table "libfabric, tcp" NCCL_NET=Fabric XYLEM_FABRIC_PROVIDER=tcp
table "libfabric, tcp, writes" NCCL_NET=Fabric XYLEM_FABRIC_PROVIDER=tcp XYLEM_FABRIC_WRITE=1
table "libfabric, shm (of one machine)" NCCL_NET=Fabric XYLEM_FABRIC_PROVIDER=shm
plugin=$build/src/libnccl-net-xylem.so
if [ -e "$plugin" ]; then
  table "libnccl-net-xylem.so" NCCL_NET=Xylem NCCL_NET_PLUGIN="$PWD/$plugin"
else
  echo "net_kinds.sh: $plugin is not built: without it" >&2
fi
