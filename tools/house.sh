# shellcheck shell=bash
# Functions that quickstart and test share. Source it from the top of the checkout; it runs nothing by itself.

say() { printf '\n== %s\n' "$*"; }

fail() {
  printf '\n%s: %s\n' "$(basename "$0")" "$*" >&2
  exit 1
}


# packages GROUP...: the names in packages.txt of these groups.
packages() {
  local group
  for group in "$@"; do awk -v group="$group" '$1 == group { print $2 }' packages.txt; done
}

# missing_packages PACKAGE...: those that are not installed.
missing_packages() {
  local package
  for package in "$@"; do
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || echo "$package"
  done
}

# install_packages GROUP...: installs what is missing, and nothing if nothing is.
install_packages() {
  local wanted=() missing=() as_root=()
  if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    fail "this is not Debian or Ubuntu: install what docs/dependencies.md lists, then run again with --no-install"
  fi
  mapfile -t wanted < <(packages "$@")
  mapfile -t missing < <(missing_packages "${wanted[@]}")
  if [ "${#missing[@]}" -eq 0 ]; then
    echo "all packages are installed"
    return
  fi
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null ||
      fail "these packages are missing, and installing them needs root: ${missing[*]}
Run as root: apt-get install ${missing[*]}"
    as_root=(sudo)
    echo "installing needs root: using sudo, which may ask for your password"
  fi
  echo "installing with apt-get: ${missing[*]}"
  "${as_root[@]}" apt-get update || fail "apt-get update failed: see the lines above (is there a network?)"
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${missing[@]}" ||
    fail "apt-get install failed: see the lines above"
}
