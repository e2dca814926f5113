# Finds the CUDA compiler before CMake does, so that a toolkit which scripts/setup.sh put into .cuda/ needs nothing on
# the PATH, and says in one sentence what is wrong when there is none or it is too old.
set(LADDER_MIN_CUDA 13.0)  # the first toolkit whose nvcc knows sm_100a and emits PTX ISA 9.0

if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
  find_program(LADDER_NVCC nvcc
    HINTS "${CMAKE_CURRENT_LIST_DIR}/../../.cuda/bin" ENV CUDA_HOME ENV CUDA_PATH
    PATHS /usr/local/cuda/bin /opt/cuda/bin)
  if(NOT LADDER_NVCC)
    message(FATAL_ERROR "No nvcc found. A CUDA toolkit of at least ${LADDER_MIN_CUDA} is required: "
                        "run scripts/setup.sh, which installs one into .cuda/, or set CUDACXX to yours.")
  endif()
  set(CMAKE_CUDA_COMPILER "${LADDER_NVCC}")
endif()

if(CMAKE_CUDA_COMPILER)
  set(_ladder_nvcc "${CMAKE_CUDA_COMPILER}")
else()
  set(_ladder_nvcc "$ENV{CUDACXX}")
endif()
execute_process(COMMAND "${_ladder_nvcc}" --version OUTPUT_VARIABLE _ladder_version ERROR_QUIET)
if(NOT _ladder_version MATCHES "release ([0-9]+\\.[0-9]+)")
  message(FATAL_ERROR "'${_ladder_nvcc} --version' does not answer like an nvcc. "
                      "A CUDA toolkit of at least ${LADDER_MIN_CUDA} is required: run scripts/setup.sh.")
endif()
if(CMAKE_MATCH_1 VERSION_LESS LADDER_MIN_CUDA)
  message(FATAL_ERROR "${_ladder_nvcc} is CUDA ${CMAKE_MATCH_1}, too old to compile for sm_100a: at least "
                      "${LADDER_MIN_CUDA} is required. Run scripts/setup.sh, or set CUDACXX to a newer nvcc.")
endif()
