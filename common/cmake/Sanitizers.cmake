# LADDER_SANITIZERS: what all host code is compiled with beside, such as address,undefined. CMakePresets.json sets it: `asan`
# and `tsan` build in folders of their own below build/. The first finding ends a program.
set(LADDER_SANITIZERS "" CACHE STRING "Sanitizers for all host code, as -fsanitize= names them")
if(LADDER_SANITIZERS)
  set(flags -fsanitize=${LADDER_SANITIZERS} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  list(JOIN flags "," for_nvcc)
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:${flags}>" "$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=${for_nvcc}>")
  add_link_options("$<HOST_LINK:-fsanitize=${LADDER_SANITIZERS}>")
endif()
