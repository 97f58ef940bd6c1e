#!/usr/bin/env bash
# Makes the Debian packages and tries them in a root that has only their dependencies, copied from this machine's Debian: the
# command runs there, and so does a program compiled with the headers of the -dev package.
#   check_packages.sh CMAKE BUILD_DIRECTORY CXX
set -euo pipefail
cmake=$1 build=$2 cxx=$3
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
step() { echo "-- $*"; }
fail() { echo "$*" >&2 && exit 1; }
for tool in dpkg-deb dpkg-query dpkg-shlibdeps; do
  command -v "$tool" >/dev/null || { echo "skipped: there is no $tool" && exit 77; }
done
unshare --map-root-user --mount --pid --fork true 2>/dev/null || { echo "skipped: no namespaces" && exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

step "packages"
# Fast compression rather than small files.
"$(dirname "$cmake")/cpack" --config "$build/CPackConfig.cmake" -B "$work" -D CPACK_DEBIAN_COMPRESSION_TYPE=gzip >/dev/null
# The Python package needs Python and torch, which this root does not have.
rm -f "$work"/python3-xylem_*.deb
debs=("$work"/*.deb)
for package in libxylem0 libxylem-dev xylem xylem-doc; do
  compgen -G "$work/${package}_*.deb" >/dev/null || fail "no package $package: ${debs[*]}"
done
for deb in "${debs[@]}"; do
  echo "   $(basename "$deb"): depends on $(dpkg-deb -f "$deb" Depends)"
done

# installed_closure NAME...: prints these packages and all that they depend on.
installed_closure() {
  local queue=("$@") name
  declare -A seen=()
  while [ "${#queue[@]}" -gt 0 ]; do
    name=${queue[0]} queue=("${queue[@]:1}")
    [ -z "${seen[$name]:-}" ] || continue
    dpkg-query -s "$name" >/dev/null 2>&1 || continue # the other of two alternatives
    seen[$name]=1
    echo "$name"
    # shellcheck disable=SC2207  # names have no spaces
    queue+=($(dpkg-query -W -f '${Pre-Depends}, ${Depends}' "$name" | sed 's/([^)]*)//g; s/:any//g; s/[,|]/ /g'))
  done
}

step "a root with only that"
root=$work/root
mkdir -p "$root"/{usr/bin,usr/lib,usr/lib64,usr/sbin,proc,tmp,dev,etc}
for folder in bin lib lib64 sbin; do ln -s "usr/$folder" "$root/$folder"; done
ours=' libxylem0 libxylem-dev xylem xylem-doc '
needed=()
for deb in "${debs[@]}"; do
  for name in $(dpkg-deb -f "$deb" Depends | sed 's/([^)]*)//g; s/[,|]/ /g'); do
    [[ $ours == *" $name "* ]] || needed+=("$name")
  done
done
mapfile -t packages < <(installed_closure "${needed[@]}")
echo "   ${packages[*]}"
dpkg -L "${packages[@]}" | sort -u | while read -r path; do
  if [ -f "$path" ] || [ -L "$path" ]; then echo "$path"; fi
done | grep -E '/lib|/etc/ld' | tar -C / -cf - -P --no-recursion -T - 2>/dev/null |
  tar -C "$root" -xf - --keep-directory-symlink
for deb in "${debs[@]}"; do
  dpkg-deb --fsys-tarfile "$deb" | tar -C "$root" -xf - --keep-directory-symlink
done
# The loader finds libraries with alternatives by links that packages make when they are configured.
find "$root"/usr/lib -mindepth 2 -maxdepth 3 -type d \( -name lapack -o -name blas \) -printf '/usr/lib/%P\n' \
  >> "$root/etc/ld.so.conf"
ldconfig -r "$root"

# inside COMMAND...: runs the command in the root, with a /proc of its own.
inside() {
  unshare --map-root-user --mount --pid --fork sh -c 'mount -t proc proc "$0/proc" && exec chroot "$0" "$@"' "$root" "$@"
}

step "the command"
inside /usr/bin/xylem --version
inside /usr/bin/xylem plan /usr/share/xylem/topologies/dgxh100.xml --nodes 2 | grep -q "16 ranks on 2 hosts"
inside /usr/bin/xylem perf all_reduce -p 2 -b 1K -e 1K -n 2 -w 1 | grep -q "Out of bounds values : 0 OK"
for file in man/man1/xylem.1 man/man1/xylem-plan.1 bash-completion/completions/xylem zsh/vendor-completions/_xylem \
  fish/vendor_completions.d/xylem.fish doc/xylem/README.md doc/xylem/docs/launchers.md doc/xylem/examples/launched_all_reduce.cc; do
  [ -s "$root/usr/share/$file" ] || fail "not in the packages: $file"
done

step "a program made with the development package"
# shellcheck disable=SC2046  # flags are words
PKG_CONFIG_PATH=$(echo "$root"/usr/lib/pkgconfig "$root"/usr/lib/*/pkgconfig | tr ' ' :) \
  bash -c '"$0" -std=c++20 "$1" -o "$2" $(pkg-config --cflags --libs xylem)' \
  "$cxx" "$here/consumer/nccl_consumer.cc" "$root/tmp/nccl"
inside /tmp/nccl
echo "ok"
