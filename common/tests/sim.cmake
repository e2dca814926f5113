# The simulated device: one executable per area. None of them needs a GPU or nvcc; sim_programs.cmake has those that do.
set(SIM_TESTS "${CMAKE_CURRENT_LIST_DIR}")
add_library(sim_test_support STATIC "${SIM_TESTS}/sim_support.cpp" "${SIM_TESTS}/sim_tensor_support.cpp")
# Tests are long and run once: compile them quickly. Their cases name the fields that matter and leave the others.
target_compile_options(sim_test_support PUBLIC -Wall -Wextra -Wno-missing-field-initializers -O1)
target_include_directories(sim_test_support PUBLIC "${SIM_TESTS}")
target_link_libraries(sim_test_support PUBLIC sim_core GTest::gtest_main)

# Each area is one test: starting an executable once per case would take longer than the cases.
foreach(area IN ITEMS parser forms arithmetic convert memory warp barrier mbarrier bulk tensor tcgen05 wgmma report engine order)
  add_executable(sim_${area}_test "${SIM_TESTS}/sim_${area}.cpp")
  target_link_libraries(sim_${area}_test PRIVATE sim_test_support)
  add_test(NAME sim_${area} COMMAND sim_${area}_test)
endforeach()
target_compile_definitions(sim_forms_test PRIVATE SIM_PTX_FORMS="${SIM_TESTS}/data/ptx_forms.txt")

# --- speed: a benchmark, not a test -----------------------------------------------------------------------------------
add_executable(sim_speed "${SIM_TESTS}/sim_speed.cpp")
target_link_libraries(sim_speed PRIVATE sim_core ${CMAKE_DL_LIBS})
target_compile_options(sim_speed PRIVATE -Wall -Wextra)
target_compile_definitions(sim_speed PRIVATE
  SIM_SPEED_LEVEL="${CMAKE_BINARY_DIR}/bin/level01_baseline_sm100" SIM_SPEED_SCRIPT="${PROJECT_SOURCE_DIR}/scripts/sim.sh")
