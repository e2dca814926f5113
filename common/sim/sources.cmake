# What the simulated device is compiled of, natively (CMakeLists.txt) and for browsers (web/CMakeLists.txt). Not in it,
# since each of the two has its own: machine/pages.cpp, engine/progress.cpp.
set(SIM_DIR "${CMAKE_CURRENT_LIST_DIR}")
file(GLOB SIM_SOURCES CONFIGURE_DEPENDS "${SIM_DIR}/ptx/*.cpp" "${SIM_DIR}/ptx/rules/*.cpp" "${SIM_DIR}/machine/*.cpp"
  "${SIM_DIR}/report/*.cpp"
  "${SIM_DIR}/exec/*/*.cpp" "${SIM_DIR}/exec/*/*/*.cpp" "${SIM_DIR}/engine/*.cpp" "${SIM_DIR}/device/*.cpp"
  "${SIM_DIR}/check/*.cpp" "${SIM_DIR}/check/*/*.cpp" "${SIM_DIR}/timing/*.cpp")
list(REMOVE_ITEM SIM_SOURCES "${SIM_DIR}/machine/pages.cpp" "${SIM_DIR}/engine/progress.cpp")
# GPUs are data; the library carries them.
file(GLOB gpus CONFIGURE_DEPENDS "${SIM_DIR}/machine/gpus/*.csv")
set(GPU_FILES "")
foreach(file ${gpus})
  get_filename_component(gpu "${file}" NAME_WE)
  file(READ "${file}" text)
  string(APPEND GPU_FILES "{\"${gpu}\", R\"csv(${text})csv\"},\n")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${file}")
endforeach()
configure_file("${SIM_DIR}/machine/gpu_files_data.cpp.in" "${CMAKE_CURRENT_BINARY_DIR}/gpu_files_data.cpp" @ONLY)
list(APPEND SIM_SOURCES "${CMAKE_CURRENT_BINARY_DIR}/gpu_files_data.cpp")
set(SIM_REPLAY_SOURCES "${SIM_DIR}/replay/recording.cpp" "${SIM_DIR}/replay/replay.cpp" "${SIM_DIR}/replay/json.cpp"
  "${SIM_DIR}/runtime/message.cpp" "${SIM_DIR}/runtime/options.cpp" "${SIM_DIR}/../harness/inputs.cpp")
set(SIM_COMPILE_OPTIONS
  # Registers and memory are bytes that instructions view as any type.
  -fno-strict-aliasing
  # Integers wrap around, as a GPU's do.
  -fwrapv
  # Results must not depend on what the compiler fuses: fast arithmetic asks for fused multiply-adds explicitly.
  -ffp-contract=off)
