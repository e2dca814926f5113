# LADDER_SANITIZERS: what all host code is compiled with beside, such as "address;undefined". CMakePresets.json sets it:
# `asan` and `tsan` build in folders of their own below build/. The first finding ends a program.
set(LADDER_SANITIZERS "" CACHE STRING "Sanitizers for all host code, as -fsanitize= names them")
if(LADDER_SANITIZERS)
  list(TRANSFORM LADDER_SANITIZERS PREPEND -fsanitize= OUTPUT_VARIABLE flags)
  add_link_options("$<HOST_LINK:${flags}>")
  # Enumerators of C that a program passes may be of a later toolkit: the runtime answers with an error code.
  list(APPEND flags -fno-sanitize=enum -fno-sanitize-recover=all -fno-omit-frame-pointer)
  list(TRANSFORM flags PREPEND -Xcompiler= OUTPUT_VARIABLE for_nvcc)  # which takes a comma for the end of an option
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:${flags}>" "$<$<COMPILE_LANGUAGE:CUDA>:${for_nvcc}>")
endif()
