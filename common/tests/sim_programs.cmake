# Whole programs on the simulated device, as other people write them: compiled by nvcc, run by scripts/sim.sh.
function(add_simulated_program name)
  add_executable(sim_program_${name} "${SIM_TESTS}/programs/${name}.cu")
  target_compile_options(sim_program_${name} PRIVATE
    "SHELL:-gencode arch=compute_90,code=[sm_90,compute_90]" -lineinfo ${ARGN})
  set_target_properties(sim_program_${name} PROPERTIES
    CUDA_ARCHITECTURES OFF CUDA_RUNTIME_LIBRARY Shared)
endfunction()
add_simulated_program(samples)
add_simulated_program(clusters_and_mma)
add_simulated_program(faults)

find_package(Python3 REQUIRED COMPONENTS Interpreter)
add_test(NAME sim_programs COMMAND Python3::Interpreter "${SIM_TESTS}/programs/test_programs.py" -v)
set_tests_properties(sim_programs PROPERTIES TIMEOUT 300
  ENVIRONMENT "LADDER_BIN=${CMAKE_RUNTIME_OUTPUT_DIRECTORY};LADDER_SIM=${PROJECT_SOURCE_DIR}/scripts/sim.sh")
