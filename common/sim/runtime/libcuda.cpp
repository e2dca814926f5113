// libcuda.so.1 has no functions of its own: see CMakeLists.txt and driver_*.cpp.
