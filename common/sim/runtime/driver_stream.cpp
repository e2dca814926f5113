// The driver's streams and events.
#include "runtime/driver.h"

using namespace sim;
using namespace sim::runtime;

CUresult cuStreamCreate(CUstream* stream, unsigned flags) {
  return as_runtime(cudaStreamCreateWithFlags, stream, flags);
}

CUresult cuStreamCreateWithPriority(CUstream* stream, unsigned flags, int priority) {
  return as_runtime(cudaStreamCreateWithPriority, stream, flags, priority);
}

CUresult cuStreamDestroy(CUstream stream) { return as_runtime(cudaStreamDestroy, stream); }

CUresult cuStreamSynchronize(CUstream stream) { return as_runtime(cudaStreamSynchronize, stream); }

CUresult cuStreamQuery(CUstream stream) { return as_runtime(cudaStreamQuery, stream); }

CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags) {
  return as_runtime(cudaStreamWaitEvent, stream, event, flags);
}

CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status) {
  return as_runtime(cudaStreamIsCapturing, stream, reinterpret_cast<cudaStreamCaptureStatus*>(status));
}

CUresult cuStreamGetCtx(CUstream, CUcontext* context) { return cuCtxGetCurrent(context); }

CUresult cuStreamGetFlags(CUstream stream, unsigned* flags) { return as_runtime(cudaStreamGetFlags, stream, flags); }

CUresult cuStreamGetPriority(CUstream stream, int* priority) {
  return as_runtime(cudaStreamGetPriority, stream, priority);
}

CUresult cuStreamGetId(CUstream stream, unsigned long long* id) { return as_runtime(cudaStreamGetId, stream, id); }

CUresult cuStreamGetDevice(CUstream stream, CUdevice* device) {
  return as_runtime(cudaStreamGetDevice, stream, device);
}

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  return as_runtime(cudaThreadExchangeStreamCaptureMode, reinterpret_cast<cudaStreamCaptureMode*>(mode));
}

CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void* data) {
  return as_runtime(cudaLaunchHostFunc, stream, function, data);
}

CUresult cuStreamAddCallback(CUstream stream, CUstreamCallback callback, void* data, unsigned flags) {
  return as_runtime(cudaStreamAddCallback, stream, reinterpret_cast<cudaStreamCallback_t>(callback), data, flags);
}

CUresult cuEventCreate(CUevent* event, unsigned flags) { return as_runtime(cudaEventCreateWithFlags, event, flags); }

CUresult cuEventDestroy(CUevent event) { return as_runtime(cudaEventDestroy, event); }

CUresult cuEventRecord(CUevent event, CUstream stream) { return as_runtime(cudaEventRecord, event, stream); }

CUresult cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned flags) {
  return as_runtime(cudaEventRecordWithFlags, event, stream, flags);
}

CUresult cuEventQuery(CUevent event) { return as_runtime(cudaEventQuery, event); }

CUresult cuEventSynchronize(CUevent event) { return as_runtime(cudaEventSynchronize, event); }

CUresult cuEventElapsedTime(float* milliseconds, CUevent start, CUevent end) {
  return as_runtime(cudaEventElapsedTime, milliseconds, start, end);
}

// For programs compiled with --default-stream per-thread.
SIM_PER_THREAD(cuStreamSynchronize, _ptsz)
SIM_PER_THREAD(cuStreamQuery, _ptsz)
SIM_PER_THREAD(cuStreamWaitEvent, _ptsz)
SIM_PER_THREAD(cuStreamIsCapturing, _ptsz)
SIM_PER_THREAD(cuStreamGetCtx, _ptsz)
SIM_PER_THREAD(cuEventRecord, _ptsz)
SIM_PER_THREAD(cuStreamGetFlags, _ptsz)
SIM_PER_THREAD(cuStreamGetPriority, _ptsz)
SIM_PER_THREAD(cuStreamGetId, _ptsz)
SIM_PER_THREAD(cuStreamGetDevice, _ptsz)
SIM_PER_THREAD(cuLaunchHostFunc, _ptsz)
SIM_PER_THREAD(cuStreamAddCallback, _ptsz)
SIM_PER_THREAD(cuEventRecordWithFlags, _ptsz)
