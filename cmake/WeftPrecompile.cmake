# weft_precompile(TARGET GROUP headers...): headers that are parsed once for all targets of a group,
# whose compiler options have to be alike: the first target of the group builds them, the others
# share its result. Every source still includes what it uses; lint.headers_alone compiles all
# headers without.
function(weft_precompile target group)
  get_property(owner GLOBAL PROPERTY weft_precompiled_${group})
  if(owner)
    target_precompile_headers(${target} REUSE_FROM ${owner})
  else()
    target_precompile_headers(${target} PRIVATE ${ARGN})
    set_property(GLOBAL PROPERTY weft_precompiled_${group} ${target})
  endif()
endfunction()

# What most sources of ours include of the standard library, and fmt.
set(WEFT_COMMON_HEADERS <algorithm> <array> <chrono> <cstdint> <cstring> <functional> <map>
  <memory> <mutex> <optional> <ranges> <set> <span> <string> <string_view> <utility> <vector>
  <fmt/format.h>)
