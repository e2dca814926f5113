#include "blas.h"

#include <array>

#include "failure.h"
#include "text.h"

namespace harness {
namespace {

using StatusString = const char*(int);

std::string status_text(StatusString* status_string, int status) {
  return status_string != nullptr ? std::string(status_string(status)) : format("status %d", status);
}

void require(int status, StatusString* status_string, const char* call) {
  if (status == cublas::SUCCESS) return;
  throw Failure(EXIT_CUDA, format("%s failed: %s.", call, status_text(status_string, status).c_str()));
}

constexpr float ONE = 1, ZERO = 0;

}  // namespace

ColumnMajorGemm column_major(const Shape& shape, const void* a, const void* b, void* d, int ldd) {
  return {.op_a = cublas::OP_T,
          .op_b = cublas::OP_N,
          .m = shape.n,
          .n = shape.m,
          .k = shape.k,
          .a = b,
          .lda = shape.k,
          .b = a,
          .ldb = shape.k,
          .c = d,
          .ldc = ldd};
}

struct Cublas::Functions {
  Library library{"libcublas.so.13", "libcublas.so.12", "libcublas.so"};
  int (*create)(void** handle);
  int (*destroy)(void* handle);
  int (*set_stream)(void* handle, cudaStream_t stream);
  int (*get_version)(void* handle, int* version);
  int (*gemm_ex)(void* handle, int op_a, int op_b, int m, int n, int k, const void* alpha, const void* a, int a_type,
                 int lda, const void* b, int b_type, int ldb, const void* beta, void* c, int c_type, int ldc,
                 int compute_type, int algorithm);
  StatusString* status_string;

  bool complete() {
    library.find(status_string, "cublasGetStatusString");
    return library.find(create, "cublasCreate_v2") && library.find(destroy, "cublasDestroy_v2") &&
           library.find(set_stream, "cublasSetStream_v2") && library.find(get_version, "cublasGetVersion_v2") &&
           library.find(gemm_ex, "cublasGemmEx");
  }
};

std::unique_ptr<Cublas> Cublas::open(cudaStream_t stream, std::string& why_not) {
  std::unique_ptr<Cublas> blas(new Cublas);
  blas->functions_ = std::make_unique<Functions>();
  Functions& f = *blas->functions_;
  if (!f.library.open() || !f.complete()) {
    why_not = "libcublas was not found";
    return nullptr;
  }
  if (const int status = f.create(&blas->handle_); status != cublas::SUCCESS) {
    blas->handle_ = nullptr;
    why_not = "cuBLAS does not start: " + status_text(f.status_string, status);
    return nullptr;
  }
  require(f.set_stream(blas->handle_, stream), f.status_string, "cublasSetStream");
  return blas;
}

Cublas::~Cublas() {
  if (handle_ != nullptr) functions_->destroy(handle_);
}

void Cublas::gemm(const ColumnMajorGemm& g, int input, int output) const {
  require(functions_->gemm_ex(handle_, g.op_a, g.op_b, g.m, g.n, g.k, &ONE, g.a, input, g.lda, g.b, input, g.ldb, &ZERO,
                              g.c, output, g.ldc, cublas::COMPUTE_32F, cublas::GEMM_DEFAULT),
          functions_->status_string, "cublasGemmEx");
}

void Cublas::gemm_to_bf16(const ColumnMajorGemm& g) const { gemm(g, cublas::R_16BF, cublas::R_16BF); }
void Cublas::gemm_to_fp32(const ColumnMajorGemm& g) const { gemm(g, cublas::R_16BF, cublas::R_32F); }
void Cublas::gemm_fp32(const ColumnMajorGemm& g) const { gemm(g, cublas::R_32F, cublas::R_32F); }

std::string Cublas::version() const {
  int number = 0;
  functions_->get_version(handle_, &number);
  return format("%d.%d.%d", number / 10000, number / 100 % 100, number % 100);
}

struct CublasLt::Functions {
  Library library{"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so"};
  int (*create)(void** handle);
  int (*destroy)(void* handle);
  int (*operation_create)(void** operation, int compute_type, int scale_type);
  int (*operation_destroy)(void* operation);
  int (*operation_set)(void* operation, int attribute, const void* value, std::size_t bytes);
  int (*layout_create)(void** layout, int type, std::uint64_t rows, std::uint64_t columns, std::int64_t ld);
  int (*layout_destroy)(void* layout);
  int (*preference_create)(void** preference);
  int (*preference_destroy)(void* preference);
  int (*preference_set)(void* preference, int attribute, const void* value, std::size_t bytes);
  int (*get_heuristic)(void* handle, void* operation, void* layout_a, void* layout_b, void* layout_c, void* layout_d,
                       void* preference, int requested, cublas::HeuristicResult* results, int* found);
  int (*matmul)(void* handle, void* operation, const void* alpha, const void* a, void* layout_a, const void* b,
                void* layout_b, const void* beta, const void* c, void* layout_c, void* d, void* layout_d,
                const void* algorithm, void* workspace, std::size_t workspace_bytes, cudaStream_t stream);
  StatusString* status_string;

  bool complete() {
    library.find(status_string, "cublasLtGetStatusString");
    return library.find(create, "cublasLtCreate") && library.find(destroy, "cublasLtDestroy") &&
           library.find(operation_create, "cublasLtMatmulDescCreate") &&
           library.find(operation_destroy, "cublasLtMatmulDescDestroy") &&
           library.find(operation_set, "cublasLtMatmulDescSetAttribute") &&
           library.find(layout_create, "cublasLtMatrixLayoutCreate") &&
           library.find(layout_destroy, "cublasLtMatrixLayoutDestroy") &&
           library.find(preference_create, "cublasLtMatmulPreferenceCreate") &&
           library.find(preference_destroy, "cublasLtMatmulPreferenceDestroy") &&
           library.find(preference_set, "cublasLtMatmulPreferenceSetAttribute") &&
           library.find(get_heuristic, "cublasLtMatmulAlgoGetHeuristic") && library.find(matmul, "cublasLtMatmul");
  }
};

std::unique_ptr<CublasLt> CublasLt::open(const ColumnMajorGemm& g, std::string& why_not) {
  std::unique_ptr<CublasLt> lt(new CublasLt);
  lt->functions_ = std::make_unique<Functions>();
  Functions& f = *lt->functions_;
  if (!f.library.open() || !f.complete()) {
    why_not = "libcublasLt was not found";
    return nullptr;
  }
  const auto check = [&](int status, const char* call) { require(status, f.status_string, call); };
  check(f.create(&lt->handle_), "cublasLtCreate");
  check(f.operation_create(&lt->operation_, cublas::COMPUTE_32F, cublas::R_32F), "cublasLtMatmulDescCreate");
  check(f.operation_set(lt->operation_, cublas::LT_DESC_TRANSA, &g.op_a, sizeof g.op_a), "setting op(A) of cublasLt");
  check(f.operation_set(lt->operation_, cublas::LT_DESC_TRANSB, &g.op_b, sizeof g.op_b), "setting op(B) of cublasLt");

  // A layout describes the matrix as it is stored, before op.
  const auto layout = [&](void** result, int op, int rows, int columns, int ld) {
    if (op == cublas::OP_T) std::swap(rows, columns);
    check(f.layout_create(result, cublas::R_16BF, static_cast<std::uint64_t>(rows), static_cast<std::uint64_t>(columns),
                          ld),
          "cublasLtMatrixLayoutCreate");
  };
  layout(&lt->layout_a_, g.op_a, g.m, g.k, g.lda);
  layout(&lt->layout_b_, g.op_b, g.k, g.n, g.ldb);
  layout(&lt->layout_c_, cublas::OP_N, g.m, g.n, g.ldc);

  void* preference = nullptr;
  check(f.preference_create(&preference), "cublasLtMatmulPreferenceCreate");
  check(
      f.preference_set(preference, cublas::LT_PREFERENCE_MAX_WORKSPACE_BYTES, &WORKSPACE_BYTES, sizeof WORKSPACE_BYTES),
      "setting the workspace of cublasLt");
  std::array<cublas::HeuristicResult, MAX_ALGORITHMS> results{};
  int found = 0;
  const int status = f.get_heuristic(lt->handle_, lt->operation_, lt->layout_a_, lt->layout_b_, lt->layout_c_,
                                     lt->layout_c_, preference, MAX_ALGORITHMS, results.data(), &found);
  f.preference_destroy(preference);
  for (int i = 0; status == cublas::SUCCESS && i < found; ++i) {
    if (results[i].state == cublas::SUCCESS) lt->found_.push_back(results[i]);
  }
  if (lt->found_.empty()) {
    why_not = "cublasLt proposes no algorithm for this shape";
    return nullptr;
  }
  return lt;
}

CublasLt::~CublasLt() {
  if (layout_c_ != nullptr) functions_->layout_destroy(layout_c_);
  if (layout_b_ != nullptr) functions_->layout_destroy(layout_b_);
  if (layout_a_ != nullptr) functions_->layout_destroy(layout_a_);
  if (operation_ != nullptr) functions_->operation_destroy(operation_);
  if (handle_ != nullptr) functions_->destroy(handle_);
}

void CublasLt::matmul(int algorithm, const ColumnMajorGemm& g, void* workspace, cudaStream_t stream) const {
  const cublas::HeuristicResult& chosen = found_.at(static_cast<size_t>(algorithm));
  require(functions_->matmul(handle_, operation_, &ONE, g.a, layout_a_, g.b, layout_b_, &ZERO, g.c, layout_c_, g.c,
                             layout_c_, chosen.algorithm, workspace, chosen.workspace_bytes, stream),
          functions_->status_string, "cublasLtMatmul");
}

}  // namespace harness
