# Tests of common/sim/runtime, common/sim/machine/{gpu,global_memory}.cpp and scripts/sim.sh. Kernels do not run in
# them: a fake device takes the launches and notes them.
set(SIM_DIR "${PROJECT_SOURCE_DIR}/common/sim")
add_library(sim_runtime_fake_core STATIC
  sim_runtime_fake_device.cpp "${SIM_DIR}/machine/gpu.cpp" "${SIM_DIR}/machine/global_memory.cpp")
target_include_directories(sim_runtime_fake_core PUBLIC "${SIM_DIR}")

add_executable(sim_runtime_test
  sim_runtime_api.cpp sim_runtime_fatbin.cpp sim_runtime_memory.cpp sim_runtime_options.cpp sim_runtime_tensor_maps.cpp
  $<TARGET_OBJECTS:sim_runtime>)
target_include_directories(sim_runtime_test PRIVATE "${CMAKE_CURRENT_LIST_DIR}")
target_include_directories(sim_runtime_test SYSTEM PRIVATE ${CMAKE_CUDA_TOOLKIT_INCLUDE_DIRECTORIES})
target_link_libraries(sim_runtime_test PRIVATE sim_runtime_fake_core GTest::gtest_main dl)
gtest_discover_tests(sim_runtime_test)

# Whole programs, against a libcudart.so.13 and a libcuda.so.1 with the fake device in them.
set(SIM_FAKE_LIBRARIES "${CMAKE_CURRENT_BINARY_DIR}/sim_runtime_fake")
add_simulated_cudart(sim_runtime_fake_cudart "${SIM_FAKE_LIBRARIES}" sim_runtime_fake_core)
add_simulated_cuda(sim_runtime_fake_cuda "${SIM_FAKE_LIBRARIES}" sim_runtime_fake_cudart)

# add_program(name runtime nvcc-options...): sim_runtime_program.cu, compiled in one of the ways that occur.
set(SIM_PROGRAMS sim_runtime_fake_cudart sim_runtime_fake_cuda)
function(add_program name runtime)
  set(target sim_runtime_program_${name})
  add_executable(${target} sim_runtime_program.cu)
  target_compile_options(${target} PRIVATE ${ARGN})
  set_target_properties(${target} PROPERTIES CUDA_ARCHITECTURES OFF CUDA_RUNTIME_LIBRARY ${runtime})
  set(SIM_PROGRAMS ${SIM_PROGRAMS} ${target} PARENT_SCOPE)
endfunction()
set(SIM_FOR_100 "SHELL:-gencode arch=compute_100a,code=[sm_100a,compute_100a]")
set(SIM_FOR_90 "SHELL:-gencode arch=compute_90a,code=[sm_90a,compute_90a]")
add_program(plain Shared ${SIM_FOR_100} --no-compress)
add_program(zstd Shared ${SIM_FOR_100} ${SIM_FOR_90} --compress-mode=size)
add_program(lz4 Shared ${SIM_FOR_90} --compress-mode=speed)
add_program(relocatable Shared "SHELL:-gencode arch=compute_100f,code=[sm_100f,compute_100f]" --no-compress)
set_target_properties(sim_runtime_program_relocatable PROPERTIES CUDA_SEPARABLE_COMPILATION ON)
target_link_options(sim_runtime_program_relocatable PRIVATE
  "$<DEVICE_LINK:SHELL:-gencode arch=compute_100f$<COMMA>code=sm_100f>")
add_program(per_thread Shared "SHELL:-gencode arch=compute_100,code=compute_100" --no-compress
  "SHELL:--default-stream per-thread")
add_program(machine_code Shared "SHELL:-gencode arch=compute_90a,code=sm_90a")
add_program(static Static ${SIM_FOR_90})

add_executable(sim_runtime_rpath sim_runtime_driver_program.cpp)
target_include_directories(sim_runtime_rpath SYSTEM PRIVATE ${CMAKE_CUDA_TOOLKIT_INCLUDE_DIRECTORIES})
target_link_libraries(sim_runtime_rpath PRIVATE "${LADDER_CUDART}" dl)
target_link_options(sim_runtime_rpath PRIVATE -Wl,--no-as-needed -Wl,--disable-new-dtags)

# The toolkit's stub of the driver library, to link with; not every toolkit has it.
get_filename_component(SIM_LIBCUDA "${LADDER_CUDART}" DIRECTORY)
set(SIM_LIBCUDA "${SIM_LIBCUDA}/stubs/libcuda.so")
add_executable(sim_runtime_driver_program sim_runtime_driver_program.cpp)
target_include_directories(sim_runtime_driver_program SYSTEM PRIVATE ${CMAKE_CUDA_TOOLKIT_INCLUDE_DIRECTORIES})
target_link_libraries(sim_runtime_driver_program PRIVATE dl)

add_executable(sim_runtime_programs sim_runtime_programs.cpp)
target_compile_definitions(sim_runtime_programs PRIVATE
  SIM_SCRIPT="${PROJECT_SOURCE_DIR}/scripts/sim.sh" SIM_LIBRARIES="${SIM_FAKE_LIBRARIES}"
  SIM_PROGRAMS="${CMAKE_RUNTIME_OUTPUT_DIRECTORY}" SIM_TOOLKIT_CUDART="${LADDER_CUDART}")
target_link_libraries(sim_runtime_programs PRIVATE GTest::gtest_main)
add_dependencies(sim_runtime_programs ${SIM_PROGRAMS} sim_runtime_rpath sim_runtime_driver_program)
if(EXISTS "${SIM_LIBCUDA}")
  target_link_libraries(sim_runtime_driver_program PRIVATE "${SIM_LIBCUDA}")
  target_compile_definitions(sim_runtime_driver_program PRIVATE LINKED_WITH_LIBCUDA)
  target_compile_definitions(sim_runtime_programs PRIVATE LINKED_WITH_LIBCUDA)
endif()
gtest_discover_tests(sim_runtime_programs)
