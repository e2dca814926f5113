// The part of the driver API that programs built on the runtime need (tensor maps, contexts, attributes, errors), and
// enough of the rest for a program that loads PTX and launches it itself. Most functions are their runtime namesakes.
//
// The functions live in libcudart.so.13, beside the state that they share. libcuda.so.1 is an empty library that
// depends on it. So a program that links it or looks a name up in it finds the name in libcudart.so.13.
#pragma once

#include "runtime/process.h"

namespace sim::runtime {

/// The driver's error code for one of the runtime. Nearly all have the same number.
CUresult as_result(cudaError_t error);

/// Calls the runtime without changing the error that cudaGetLastError returns.
template <typename Body>
CUresult without_trace(Body&& body) {
  const cudaError_t before = last_error();
  const cudaError_t error = body();
  last_error() = before;
  return as_result(error);
}

/// Calls the runtime's equivalent function. Messages name the driver's function instead.
template <typename... Parameters, typename... Arguments>
CUresult as_runtime_in(const char* caller, cudaError_t (*function)(Parameters...), Arguments... arguments) {
  const CalledAs name(caller);
  return without_trace([&] { return function(arguments...); });
}
#define as_runtime(...) as_runtime_in(__func__, __VA_ARGS__)

/// The frame of a driver function without an equivalent in the runtime.
template <typename Body>
CUresult driver(const char* name, Body&& body) {
  return without_trace([&] { return query(name, body); });
}

/// Converts the driver's description of a copy into the runtime's. Refuses arrays.
CUresult as_runtime_copy(const CUDA_MEMCPY3D* parameters, cudaMemcpy3DParms* copy);

/// There is one context, and it is always current.
CUcontext the_context();

inline void* pointer_to(CUdeviceptr address) { return reinterpret_cast<void*>(address); }

}  // namespace sim::runtime
