# weft_precompile(TARGET GROUP headers...): headers that are parsed once for all targets of a group,
# whose compiler options have to be alike: the first target of the group builds them, the others
# share its result. Every source still includes what it uses: the release tree's rooms are compiled
# without.
function(weft_precompile target group)
  get_property(owner GLOBAL PROPERTY weft_precompiled_${group})
  if(owner)
    target_precompile_headers(${target} REUSE_FROM ${owner})
  else()
    target_precompile_headers(${target} PRIVATE ${ARGN})
    set_property(GLOBAL PROPERTY weft_precompiled_${group} ${target})
  endif()
endfunction()
