# add_level(levelNN_name) makes one executable per architecture out of levelNN_name/main.cu, and
# add_production(production FOLDER) the same out of FOLDER/main.cu, for a kernel that is no level of the ladder:
#
#   levelNN_name_sm100   Blackwell: machine code for sm_100a and the PTX that the simulated device runs
#   levelNN_name_sm90    Hopper:    machine code for sm_90a and PTX
#
# LADDER_LEVELS lists the levels, LADDER_KERNELS these and the production kernel; LADDER_FOLDER_name is the folder of
# each. The architectures are fixed per target. `-arch=sm_100a` alone, or a missing `a`, does not compile tcgen05 at
# all. CMake's own ideas (a static runtime, the architecture of the machine's GPU) are switched off: the simulated
# device replaces libcudart.so.13, so it must be a shared library, found first through LD_LIBRARY_PATH.

# What every kernel of a level is compiled with. -lineinfo: reports of the simulated device and profilers name source
# lines. --no-compress: the PTX stays readable in the executable.
set(LADDER_NVCC_FLAGS -lineinfo --no-compress -Werror=all-warnings)

# add_program(TARGET SOURCES ARCH [DEFINES ...]): compiled for one architecture, to run on a GPU or on the simulated
# device.
function(add_program target source arch)
  cmake_parse_arguments(ARG "" "" "DEFINES" ${ARGN})
  add_executable(${target} ${source})
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}")
  target_compile_definitions(${target} PRIVATE LADDER_ARCH=${arch} ${ARG_DEFINES})
  target_compile_options(${target} PRIVATE
    "SHELL:-gencode arch=compute_${arch}a,code=[sm_${arch}a,compute_${arch}a]" ${LADDER_NVCC_FLAGS})
  set_target_properties(${target} PROPERTIES
    CUDA_ARCHITECTURES OFF CUDA_RUNTIME_LIBRARY Shared BUILD_RPATH "${LADDER_CUDART_DIR}")
endfunction()

function(add_level_target target source arch)
  add_program(${target} "${source}" ${arch} ${ARGN})
  target_link_libraries(${target} PRIVATE harness)
  # nvcc's report of registers, stack frames and spills passes through this launcher, which fails the build on any.
  target_compile_options(${target} PRIVATE --resource-usage)
  set_target_properties(${target} PROPERTIES CUDA_COMPILER_LAUNCHER "${PROJECT_SOURCE_DIR}/common/cmake/check_spills.sh")
endfunction()

function(add_level level)
  set_property(GLOBAL APPEND PROPERTY LADDER_LEVELS ${level})
  add_production(${level} ${level})
endfunction()

function(add_production name folder)
  set_property(GLOBAL APPEND PROPERTY LADDER_KERNELS ${name})
  set_property(GLOBAL PROPERTY LADDER_FOLDER_${name} ${folder})
  foreach(arch IN ITEMS 100 90)
    if(EXISTS "${PROJECT_SOURCE_DIR}/${folder}/kernel_sm${arch}.cuh")
      add_level_target(${name}_sm${arch} ${folder}/main.cu ${arch})
    endif()
  endforeach()
endfunction()

# add_warm_up(NAME) makes warm_up_NAME_sm100 and warm_up_NAME_sm90 out of level01_baseline/warm_up: programs of one file
# each, without the harness.
add_custom_target(warm_up)
function(add_warm_up name)
  foreach(arch IN ITEMS 100 90)
    add_program(warm_up_${name}_sm${arch} level01_baseline/warm_up/${name}_sm${arch}.cu ${arch})
    add_dependencies(warm_up warm_up_${name}_sm${arch})
  endforeach()
endfunction()

# add_level_variant(LEVEL ARCH SWITCH=VALUE ...): the level's program with switches of its kernel set, outside `all`,
# under a name that says which. scripts/build.sh lists the requested ones in variants.cmake.
function(add_level_variant level arch)
  get_property(folder GLOBAL PROPERTY LADDER_FOLDER_${level})
  if(NOT EXISTS "${PROJECT_SOURCE_DIR}/${folder}/kernel_sm${arch}.cuh")
    return()  # it was asked for when there was one
  endif()
  list(JOIN ARGN "-" switches)
  set(output "${level}_sm${arch}-${switches}")
  string(REPLACE "=" "." target "${output}")
  add_level_target(${target} ${folder}/main.cu ${arch} DEFINES ${ARGN})
  set_target_properties(${target} PROPERTIES OUTPUT_NAME "${output}" EXCLUDE_FROM_ALL ON)
endfunction()
include("${CMAKE_BINARY_DIR}/variants.cmake" OPTIONAL)
