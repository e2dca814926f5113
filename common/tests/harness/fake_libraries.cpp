// libcublas, libcublasLt and libnvidia-ml for the fake GPU: built as three shared libraries that the harness finds with
// dlopen under their real names. Matrix products follow BLAS's column-major definition, so swapped operands or a wrong
// leading dimension show. The declarations repeat those of the real headers, which need not be installed.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "common/harness/bf16.h"

namespace {

using harness::Bf16;

constexpr int SUCCESS = 0, NOT_INITIALIZED = 1, INVALID_VALUE = 7, NOT_SUPPORTED = 15;
[[maybe_unused]] int token;  // what opaque handles point to
constexpr int R_32F = 0, R_16BF = 14;

/// An environment variable with which a test asks for a failure.
[[maybe_unused]] bool asked_for(const char* failure) {
  const char* value = std::getenv("FAKE_LIBRARIES");
  return value != nullptr && std::strstr(value, failure) != nullptr;
}

[[maybe_unused]] float value_of(Bf16 value) { return harness::to_float(value); }
[[maybe_unused]] float value_of(float value) { return value; }

template <typename Element>
[[maybe_unused]] int column_major_gemm(bool transpose_a, bool transpose_b, int m, int n, int k, const Element* a,
                                       std::int64_t lda, const Element* b, std::int64_t ldb, void* c, int c_type,
                                       std::int64_t ldc) {
  if (lda < (transpose_a ? k : m) || ldb < (transpose_b ? n : k) || ldc < m) return INVALID_VALUE;
  for (int j = 0; j < n; ++j) {
    for (int i = 0; i < m; ++i) {
      float sum = 0;
      for (int l = 0; l < k; ++l) {
        sum += value_of(transpose_a ? a[l + i * lda] : a[i + l * lda]) *
               value_of(transpose_b ? b[j + l * ldb] : b[l + j * ldb]);
      }
      if (c_type == R_32F) {
        static_cast<float*>(c)[i + j * ldc] = sum;
      } else {
        static_cast<Bf16*>(c)[i + j * ldc] = harness::round_to_bf16(sum);
      }
    }
  }
  return SUCCESS;
}

}  // namespace

extern "C" {

#if defined(FAKE_CUBLAS)

int cublasCreate_v2(void** handle) {
  *handle = &token;
  return asked_for("cublas-does-not-start") ? NOT_INITIALIZED : SUCCESS;
}
int cublasDestroy_v2(void*) { return SUCCESS; }
int cublasSetStream_v2(void*, void*) { return SUCCESS; }
int cublasGetVersion_v2(void*, int* version) {
  *version = 130102;
  return SUCCESS;
}
const char* cublasGetStatusString(int status) { return status == NOT_INITIALIZED ? "not initialized" : "other"; }
int cublasGemmEx(void*, int op_a, int op_b, int m, int n, int k, const float* alpha, const void* a, int a_type, int lda,
                 const void* b, int b_type, int ldb, const float* beta, void* c, int c_type, int ldc, int compute_type,
                 int algorithm) {
  if (a_type != b_type || *alpha != 1 || *beta != 0 || compute_type != 68 || algorithm != -1) return INVALID_VALUE;
  if (a_type == R_32F) {
    return column_major_gemm(op_a == 1, op_b == 1, m, n, k, static_cast<const float*>(a), lda,
                             static_cast<const float*>(b), ldb, c, c_type, ldc);
  }
  if (a_type != R_16BF) return INVALID_VALUE;
  return column_major_gemm(op_a == 1, op_b == 1, m, n, k, static_cast<const Bf16*>(a), lda, static_cast<const Bf16*>(b),
                           ldb, c, c_type, ldc);
}

#elif defined(FAKE_CUBLASLT)

struct Layout {
  int type;
  std::uint64_t rows, columns;
  std::int64_t ld;
};
struct Operation {
  int transpose[2] = {0, 0};
};
struct Heuristic {
  std::uint64_t algorithm[8];
  std::size_t workspace_bytes;
  int state;
  float waves;
  int reserved[4];
};

int cublasLtCreate(void** handle) {
  *handle = &token;
  return SUCCESS;
}
int cublasLtDestroy(void*) { return SUCCESS; }
const char* cublasLtGetStatusString(int) { return "some status"; }
int cublasLtMatmulDescCreate(Operation** operation, int compute_type, int scale_type) {
  *operation = new Operation;
  return compute_type == 68 && scale_type == R_32F ? SUCCESS : INVALID_VALUE;
}
int cublasLtMatmulDescDestroy(Operation* operation) {
  delete operation;
  return SUCCESS;
}
int cublasLtMatmulDescSetAttribute(Operation* operation, int attribute, const int* value, std::size_t bytes) {
  if ((attribute != 3 && attribute != 4) || bytes != sizeof *value) return INVALID_VALUE;
  operation->transpose[attribute - 3] = *value;
  return SUCCESS;
}
int cublasLtMatrixLayoutCreate(Layout** layout, int type, std::uint64_t rows, std::uint64_t columns, std::int64_t ld) {
  *layout = new Layout{type, rows, columns, ld};
  return SUCCESS;
}
int cublasLtMatrixLayoutDestroy(Layout* layout) {
  delete layout;
  return SUCCESS;
}
int cublasLtMatmulPreferenceCreate(void** preference) {
  *preference = &token;
  return SUCCESS;
}
int cublasLtMatmulPreferenceDestroy(void*) { return SUCCESS; }
int cublasLtMatmulPreferenceSetAttribute(void*, int attribute, const std::size_t*, std::size_t bytes) {
  return attribute == 1 && bytes == sizeof(std::size_t) ? SUCCESS : INVALID_VALUE;
}

/// Three proposals: one that takes three times as long, one that then refuses, and a good one.
int cublasLtMatmulAlgoGetHeuristic(void*, Operation*, Layout*, Layout*, Layout*, Layout*, void*, int requested,
                                   Heuristic* results, int* found) {
  *found = 0;
  if (asked_for("cublaslt-proposes-nothing")) return NOT_SUPPORTED;
  for (int i = 0; i < 3 && i < requested; ++i) {
    results[i] = {};
    results[i].algorithm[0] = static_cast<std::uint64_t>(i);
    *found = i + 1;
  }
  return SUCCESS;
}

int cublasLtMatmul(void*, Operation* operation, const float*, const void* a, Layout* layout_a, const void* b,
                   Layout* layout_b, const float*, const void*, Layout*, void* d, Layout* layout_d,
                   const std::uint64_t* algorithm, void* workspace, std::size_t, void*) {
  const bool transpose_a = operation->transpose[0] == 1, transpose_b = operation->transpose[1] == 1;
  const int m = static_cast<int>(layout_d->rows), n = static_cast<int>(layout_d->columns);
  const int k = static_cast<int>(transpose_a ? layout_a->rows : layout_a->columns);
  const bool consistent = static_cast<int>(transpose_a ? layout_a->columns : layout_a->rows) == m &&
                          static_cast<int>(transpose_b ? layout_b->rows : layout_b->columns) == n &&
                          static_cast<int>(transpose_b ? layout_b->columns : layout_b->rows) == k;
  if (!consistent || workspace == nullptr) return INVALID_VALUE;
  if (*algorithm == 1) return NOT_SUPPORTED;
  // By so much the slower one that it is, too, where a busy machine interrupts the other.
  if (*algorithm == 0) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  return column_major_gemm(transpose_a, transpose_b, m, n, k, static_cast<const Bf16*>(a), layout_a->ld,
                           static_cast<const Bf16*>(b), layout_b->ld, d, layout_d->type, layout_d->ld);
}

#elif defined(FAKE_NVML)

int nvmlInit_v2() { return SUCCESS; }
int nvmlShutdown() { return SUCCESS; }
int nvmlDeviceGetHandleByPciBusId_v2(const char* bus_id, void** device) {
  *device = &token;
  return std::strcmp(bus_id, "00000000:65:00.0") == 0 ? SUCCESS : INVALID_VALUE;
}
int nvmlDeviceGetClockInfo(void*, int domain, unsigned* mhz) {
  *mhz = domain == 1 ? 1550 : 0;
  return SUCCESS;
}
int nvmlDeviceGetPowerUsage(void*, unsigned* milliwatts) {
  *milliwatts = 691000;
  return SUCCESS;
}
int nvmlDeviceGetEnforcedPowerLimit(void*, unsigned* milliwatts) {
  *milliwatts = 700000;
  return SUCCESS;
}
int nvmlSystemGetDriverVersion(char* text, unsigned length) {
  std::strncpy(text, "580.159.03", length);
  return SUCCESS;
}

#endif
}
