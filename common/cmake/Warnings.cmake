# Our C++ compiles without a warning, on the compilers that it is tested with; warnings of newer ones do not stop a
# build. Kernels are compiled by nvcc, whose warnings are errors everywhere (Level.cmake).
add_compile_options(
  # Designated initializers name the fields that matter, and leave the others.
  "$<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wno-missing-field-initializers>"
  "$<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-restrict>")  # GCC 12 misjudges concatenations of std::string
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13 AND NOT LADDER_SANITIZERS)
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-Werror>")
endif()
