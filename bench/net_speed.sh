#!/usr/bin/env bash
# Two ranks on two hosts, which are network namespaces joined by a cable (veth), beside bare TCP over the same cable. Needs
# root, iproute2 and a built release preset. Removes everything that it makes.
#
#   bench/net_speed.sh [ROUNDS [BYTES]]                sizes up to BYTES
#   bench/net_speed.sh --in 'COMMAND'      runs COMMAND with HOST0 and HOST1, the names of the namespaces, instead
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
speed=${XYLEM_NET_SPEED:-build/release/bench/net_speed}
[ -x "$speed" ] || { echo "net_speed.sh: $speed is not built: cmake --preset release && cmake --build build/release" >&2; exit 2; }

export HOST0=xylem-speed-$$-0 HOST1=xylem-speed-$$-1
# The cable disappears with its ends.
trap 'ip netns del $HOST0 2>/dev/null || true; ip netns del $HOST1 2>/dev/null || true' EXIT
ip netns add "$HOST0"
ip netns add "$HOST1"
ip link add eth0 netns "$HOST0" type veth peer name eth0 netns "$HOST1"
for i in 0 1; do
  host=HOST$i
  ip -n "${!host}" link set lo up
  ip -n "${!host}" link set eth0 up
  ip -n "${!host}" address add 10.213.0.$((i + 1))/24 dev eth0
done
if [ "${1:-}" = --in ]; then bash -c "$2"; exit; fi

unset NCCL_DEBUG
export NCCL_COMM_ID=10.213.0.1:9999 NCCL_SOCKET_IFNAME==eth0
start() {
  local host=HOST$1
  # Each rank has a core of its own, one of the last two of the machine.
  NCCL_HOSTID=$1 ip netns exec "${!host}" taskset -c $(($(nproc) - 2 + $1)) ${XYLEM_NET_TRACE:-} "$speed" "$1" 10.213.0.1 9998 "${@:2}"
}
start 1 "$@" &
start 0 "$@"
wait
