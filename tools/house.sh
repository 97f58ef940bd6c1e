# shellcheck shell=bash
# Functions that quickstart and test share. Source it from the top of the checkout; it runs nothing by itself.

# CMake options of ./quickstart, which builds only the parts that a first look needs.
# shellcheck disable=SC2034  # quickstart and test use it
quickstart_choices=(-DXYLEM_TESTS=OFF -DXYLEM_BENCH=OFF -DXYLEM_PYTHON=OFF -DXYLEM_LTO=OFF -DXYLEM_CUDA=OFF)

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

# missing_packages PACKAGE...: prints those that are not installed.
missing_packages() {
  local package
  for package in "$@"; do
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || echo "$package"
  done
}

# install_packages GROUP...: installs the missing packages of the groups. Shows the output of apt-get if it fails.
install_packages() {
  local wanted=() missing=() as_root=() log
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
  log=$(mktemp)
  if ! "${as_root[@]}" apt-get update >"$log" 2>&1 ||
    ! "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${missing[@]}" \
      >>"$log" 2>&1; then
    tail -n 30 "$log" >&2
    fail "apt-get failed: see the lines above (is there a network?)"
  fi
  rm -f "$log"
}

# configure BUILD ARGUMENT...: runs cmake, silently unless it fails.
configure() {
  local build=$1 log
  shift
  log=$(mktemp)
  cmake "$@" >"$log" 2>&1 || { cat "$log" >&2 && fail "configuring $build failed: see the lines above"; }
  rm -f "$log"
}

# build BUILD TARGET...: compiles, and shows progress: the step, the number of steps and the seconds, in a line that moves on
# a terminal and a line every ten seconds elsewhere. Shows all output of a failing step.
build() {
  local folder=$1 start=$SECONDS last=-10 step what width
  shift
  while IFS= read -r line; do
    if [[ $line != @* ]]; then
      # Keeps warnings and errors of compilers, and leaves out that there is nothing to do.
      [[ $line == "ninja: no work to do." ]] || printf '%s%s\n' "$([ -t 1 ] && printf '\r\e[K')" "$line"
      continue
    fi
    step=${line%% *} what=${line#* }
    step=${step#@}
    case "$what" in Re-*) continue ;; esac # of CMake's own
    what=${what#Building CXX object } what=${what//CMakeFiles\//} what=${what%/Unity/*} what=${what//.dir/} what=${what//room_/}
    if [ -t 1 ]; then
      width=$(($(tput cols 2>/dev/null || echo 80) - 20))
      printf '\r\e[K  %9s %4d s  %s' "$step" "$((SECONDS - start))" "${what:0:width}"
    elif [ $((SECONDS - last)) -ge 10 ]; then
      printf '  %9s %4d s  %s\n' "$step" "$((SECONDS - start))" "$what"
      last=$SECONDS
    fi
  done < <(NINJA_STATUS='@%f/%t ' cmake --build "$folder" --parallel "${XYLEM_JOBS:-$(nproc)}" --target "$@" 2>&1 ||
    echo "@failed ")
  [ "${step:-}" != failed ] || return 1
  printf '%s  built in %d s\n' "$([ -t 1 ] && printf '\r\e[K')" "$((SECONDS - start))"
}
