# shellcheck shell=bash
# What ./quickstart and ./check share. Sourced, from the root of the repository.

# ccache where there is one; CMake reads these when it first configures a build tree.
if command -v ccache >/dev/null; then
  export CMAKE_C_COMPILER_LAUNCHER=${CMAKE_C_COMPILER_LAUNCHER-ccache}
  export CMAKE_CXX_COMPILER_LAUNCHER=${CMAKE_CXX_COMPILER_LAUNCHER-ccache}
  # Precompiled headers, which it leaves alone otherwise.
  export CCACHE_SLOPPINESS=${CCACHE_SLOPPINESS-pch_defines,time_macros}
fi

# step WHAT COMMAND...: says what is done and how long it took; shows the command's output only
# when it fails, and ends the script then.
step() {
  local what=$1 log begin=$SECONDS
  shift
  log=$(mktemp)
  printf '%s ... ' "$what"
  if ! "$@" >"$log" 2>&1; then
    echo "failed: $*"
    cat "$log"
    rm -f "$log"
    exit 1
  fi
  rm -f "$log"
  echo "$((SECONDS - begin)) s"
}
