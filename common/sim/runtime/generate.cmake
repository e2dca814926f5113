# Generates the parts of the runtime that depend on the installed toolkit, so that they match every CUDA 13:
#
#   unsupported_functions.cpp   a weak definition of every function that the toolkit's libcudart and libcuda export. The
#                               functions of api_*.cpp and driver_*.cpp are strong and win; others report their name.
#   runtime_errors.inc, driver_errors.inc   SIM_ERROR(name) for every error code.
#
# Usage: cmake -DNM=nm -DCUDART=libcudart.so.13 -DCUDA_STUB=stubs/libcuda.so -DINCLUDE=directory -DOUT=directory
#              -P generate.cmake

function(exported_names library prefix out)
  execute_process(COMMAND "${NM}" -D --defined-only "${library}" OUTPUT_VARIABLE table RESULT_VARIABLE failed)
  string(REGEX MATCHALL " [TW] ${prefix}[A-Za-z0-9_]+" names "${table}")
  list(TRANSFORM names REPLACE "^ [TW] " "")
  if(failed OR NOT names)
    message(FATAL_ERROR "${NM} found no functions in ${library}: is it a CUDA toolkit's library?")
  endif()
  set(${out} ${names} PARENT_SCOPE)
endfunction()

function(write_if_changed file content)
  if(EXISTS "${file}")
    file(READ "${file}" before)
  endif()
  if(NOT "${before}" STREQUAL "${content}")
    file(WRITE "${file}" "${content}")
  endif()
endfunction()

function(write_errors header pattern file)
  file(STRINGS "${header}" lines REGEX "^[ ,]*${pattern} *= *[0-9]")
  set(content "")
  foreach(line IN LISTS lines)
    string(REGEX MATCH "[A-Za-z_][A-Za-z0-9_]*" name "${line}")
    if(NOT name STREQUAL "cudaErrorApiFailureBase")
      string(APPEND content "SIM_ERROR(${name})\n")
    endif()
  endforeach()
  write_if_changed("${OUT}/${file}" "${content}")
endfunction()

exported_names("${CUDART}" "(cuda|__cuda)" functions)
if(EXISTS "${CUDA_STUB}")  # not every toolkit has it; without it only the functions of driver_*.cpp exist
  exported_names("${CUDA_STUB}" "cu[A-Z]" driver_functions)
endif()

set(content "#include \"runtime/unsupported.h\"\n\n#define SIM_UNSUPPORTED(name) \\\n"
            "  extern \"C\" __attribute__((weak, visibility(\"default\"))) void name() { \\\n"
            "    sim::runtime::unsupported(#name)\; \\\n  }\n\n")
string(CONCAT content ${content})
foreach(name IN LISTS functions driver_functions)
  string(APPEND content "SIM_UNSUPPORTED(${name})\n")
endforeach()
write_if_changed("${OUT}/unsupported_functions.cpp" "${content}")

write_errors("${INCLUDE}/driver_types.h" "cuda(Error[A-Za-z0-9]+|Success)" runtime_errors.inc)
write_errors("${INCLUDE}/cuda.h" "CUDA_(ERROR_[A-Z0-9_]+|SUCCESS)" driver_errors.inc)
