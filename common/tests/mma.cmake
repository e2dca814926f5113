# common/mma: every packed bit, against values worked out by hand. Host code; of CUDA only the headers are needed.
add_executable(mma_test mma_descriptors.cpp mma_k_major.cpp mma_swizzle.cpp mma_tensor_map.cpp)
target_include_directories(mma_test PRIVATE "${PROJECT_SOURCE_DIR}")
target_include_directories(mma_test SYSTEM PRIVATE ${CMAKE_CUDA_TOOLKIT_INCLUDE_DIRECTORIES})
target_compile_options(mma_test PRIVATE -Wall -Wextra)
target_link_libraries(mma_test PRIVATE GTest::gtest_main)
add_test(NAME mma COMMAND mma_test)
