// Streams, events, and waits for them. All work is done when the call that submits it returns, so nothing has to wait.
#include <chrono>

#include "runtime/capture.h"

using namespace sim;
using namespace sim::runtime;

// ------------------------------------------------------------------------------------------------------------- streams

cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  return call("cudaStreamCreate", [&](Process&) { result(stream, "stream") = create_stream(cudaStreamDefault, 0); });
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  return call("cudaStreamCreateWithFlags", [&](Process&) { result(stream, "stream") = create_stream(flags, 0); });
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority) {
  return call("cudaStreamCreateWithPriority",
              [&](Process&) { result(stream, "stream") = create_stream(flags, priority); });
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  return call("cudaStreamDestroy", [&](Process&) {
    refuse_while_captured(stream);
    destroy_stream(stream);
  });
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return call("cudaStreamSynchronize", [&](Process& process) {
    find_stream(stream);
    refuse_while_captured(stream);
    process.order().wait_for(name_of(stream));
  });
}
SIM_PER_THREAD(cudaStreamSynchronize, _ptsz)

cudaError_t cudaStreamQuery(cudaStream_t stream) {
  return call("cudaStreamQuery", [&](Process& process) {  // the work is done, and after this call the host knows it
    find_stream(stream);
    refuse_while_captured(stream);
    process.order().wait_for(name_of(stream));
  });
}
SIM_PER_THREAD(cudaStreamQuery, _ptsz)

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  return call("cudaStreamWaitEvent", [&](Process& process) {
    find_stream(stream);
    find_event(event);
    if (!capture_wait(stream, event)) wait_for_event(process, event, name_of(stream));
  });
}
SIM_PER_THREAD(cudaStreamWaitEvent, _ptsz)

cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned* flags) {
  return call("cudaStreamGetFlags", [&](Process&) { result(flags, "flags") = find_stream(stream).flags; });
}
SIM_PER_THREAD(cudaStreamGetFlags, _ptsz)

cudaError_t cudaStreamGetPriority(cudaStream_t stream, int* priority) {
  return call("cudaStreamGetPriority", [&](Process&) { result(priority, "priority") = find_stream(stream).priority; });
}
SIM_PER_THREAD(cudaStreamGetPriority, _ptsz)

cudaError_t cudaStreamGetId(cudaStream_t stream, unsigned long long* id) {
  return call("cudaStreamGetId", [&](Process&) { result(id, "streamId") = find_stream(stream).id; });
}
SIM_PER_THREAD(cudaStreamGetId, _ptsz)

cudaError_t cudaStreamGetDevice(cudaStream_t stream, int* device) {
  return call("cudaStreamGetDevice", [&](Process&) {
    find_stream(stream);
    result(device, "device") = 0;
  });
}
SIM_PER_THREAD(cudaStreamGetDevice, _ptsz)

// The attributes are hints about caches and synchronisation. They are accepted without effect.
cudaError_t cudaStreamSetAttribute(cudaStream_t stream, cudaStreamAttrID, const cudaStreamAttrValue* value) {
  return call("cudaStreamSetAttribute", [&](Process&) {
    find_stream(stream);
    require_pointer(value, "value");
  });
}
SIM_PER_THREAD(cudaStreamSetAttribute, _ptsz)

cudaError_t cudaStreamGetAttribute(cudaStream_t stream, cudaStreamAttrID, cudaStreamAttrValue* value) {
  return call("cudaStreamGetAttribute", [&](Process&) {
    find_stream(stream);
    result(value, "value") = {};
  });
}
SIM_PER_THREAD(cudaStreamGetAttribute, _ptsz)

cudaError_t cudaStreamCopyAttributes(cudaStream_t to, cudaStream_t from) {
  return call("cudaStreamCopyAttributes", [&](Process&) {
    find_stream(to);
    find_stream(from);
  });
}
SIM_PER_THREAD(cudaStreamCopyAttributes, _ptsz)

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  return call("cudaDeviceGetStreamPriorityRange", [&](Process&) {
    if (least != nullptr) *least = kLeastPriority;
    if (greatest != nullptr) *greatest = kGreatestPriority;
  });
}

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  static thread_local cudaStreamCaptureMode current = cudaStreamCaptureModeGlobal;
  return call("cudaThreadExchangeStreamCaptureMode", [&](Process&) { std::swap(result(mode, "mode"), current); });
}

// Host functions run between the frames of two calls, because they may call the API themselves.
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
  bool captured = false;
  const cudaError_t error = call("cudaLaunchHostFunc", [&](Process&) {
    find_stream(stream);
    if (function == nullptr) refuse(cudaErrorInvalidValue, "fn is a null pointer.");
    captured = capture_host_function(stream, function, data);
  });
  if (error == cudaSuccess && !captured) function(data);
  return error;
}
SIM_PER_THREAD(cudaLaunchHostFunc, _ptsz)

cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void* data, unsigned flags) {
  const cudaError_t error = call("cudaStreamAddCallback", [&](Process&) {
    find_stream(stream);
    if (callback == nullptr || flags != 0) {
      refuse(cudaErrorInvalidValue, "callback must be a function, and flags 0 (it is %u).", flags);
    }
  });
  if (error == cudaSuccess) callback(stream, cudaSuccess, data);
  return error;
}
SIM_PER_THREAD(cudaStreamAddCallback, _ptsz)

// -------------------------------------------------------------------------------------------------------------- events

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  return call("cudaEventCreateWithFlags", [&](Process&) { result(event, "event") = create_event(flags); });
}

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return call("cudaEventCreate", [&](Process&) { result(event, "event") = create_event(cudaEventDefault); });
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  return call("cudaEventDestroy", [&](Process&) { destroy_event(event); });
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags) {
  return call("cudaEventRecord", [&](Process& process) {
    if ((flags & ~cudaEventRecordExternal) != 0) refuse(cudaErrorInvalidValue, "the flags 0x%x are unknown.", flags);
    find_stream(stream);
    find_event(event);
    if (!capture_record(stream, event)) record_event(process, event, name_of(stream));
  });
}
SIM_PER_THREAD(cudaEventRecordWithFlags, _ptsz)

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return cudaEventRecordWithFlags(event, stream, cudaEventRecordDefault);
}
SIM_PER_THREAD(cudaEventRecord, _ptsz)

cudaError_t cudaEventQuery(cudaEvent_t event) {
  return call("cudaEventQuery", [&](Process& process) { wait_for_event(process, event); });
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  return call("cudaEventSynchronize", [&](Process& process) { wait_for_event(process, event); });
}

// The time that passed on the host: a measure of the simulation's speed, not of a GPU's.
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  return call("cudaEventElapsedTime", [&](Process&) {
    float& elapsed = result(milliseconds, "ms");
    const Event &from = find_event(start), &to = find_event(end);
    if (((from.flags | to.flags) & cudaEventDisableTiming) != 0) {
      refuse(cudaErrorInvalidResourceHandle, "an event created with cudaEventDisableTiming has no time.");
    }
    if (!from.recorded || !to.recorded) {
      refuse(cudaErrorInvalidResourceHandle, "the %s event has not been recorded.", from.recorded ? "end" : "start");
    }
    elapsed = std::chrono::duration<float, std::milli>(*to.recorded - *from.recorded).count();
  });
}
