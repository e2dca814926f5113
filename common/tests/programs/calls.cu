// Calls that no compiler inlines: virtual functions, tables of functions, pointers that the host hands over, recursion
// over trees, and a sort with arrays on the stack. Every result is compared on the host.
#include <algorithm>
#include <cstring>

#include "program.h"

constexpr int N = 256;

template <class T>
static T* managed(size_t count) {
  T* memory;
  CHECK(cudaMallocManaged(&memory, count * sizeof(T)));
  std::memset(memory, 0, count * sizeof(T));
  return memory;
}

// ---- virtual functions: objects made by one kernel, used by another

struct Shape {
  __host__ __device__ virtual ~Shape() {}
  __host__ __device__ virtual float area() const = 0;
  __host__ __device__ virtual float twice() const { return 2 * area(); }
};
struct Square final : Shape {
  float side;
  __host__ __device__ explicit Square(float side) : side(side) {}
  __host__ __device__ float area() const override { return side * side; }
};
struct Disc final : Shape {
  float radius;
  __host__ __device__ explicit Disc(float radius) : radius(radius) {}
  __host__ __device__ float area() const override { return 3 * radius * radius; }
  __host__ __device__ float twice() const override { return Shape::twice() + 1; }
};

__global__ void make(Shape** shapes) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i % 3 == 0)
    shapes[i] = new Square(static_cast<float>(i));
  else
    shapes[i] = new Disc(static_cast<float>(i));
}
__global__ void measure(Shape** shapes, float* twice) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = shapes[i]->twice();
  // All lanes are here again: a shuffle takes part in it.
  sum += __shfl_xor_sync(~0u, sum, 1);
  twice[i] = sum;
  delete shapes[i];
}

static void virtual_functions() {
  Shape** shapes = managed<Shape*>(N);
  float* twice = managed<float>(N);
  make<<<2, N / 2>>>(shapes);
  measure<<<2, N / 2>>>(shapes, twice);
  CHECK(cudaDeviceSynchronize());
  const auto expected = [](int i) {
    if (i % 3 == 0) return Square(static_cast<float>(i)).twice();
    return Disc(static_cast<float>(i)).twice();
  };
  for (int i = 0; i < N; ++i) EXPECT(twice[i] == expected(i) + expected(i ^ 1));
  std::puts("virtual functions PASSED");
}

// ---- tables of functions, and a pointer from the host

using Operation = int (*)(int, int);
__device__ int add(int a, int b) { return a + b; }
__device__ int subtract(int a, int b) { return a - b; }
__device__ int multiply(int a, int b) { return a * b; }
__device__ Operation operations[] = {add, subtract, multiply};
__constant__ Operation constant_operation = multiply;
__device__ Operation for_the_host = subtract;

__global__ void fold(Operation given, int* out) {
  const int i = threadIdx.x;
  int value = operations[i % 3](i, 7);
  value = constant_operation(value, 3);
  out[i] = given(value, i);
}

static void tables_of_functions() {
  int* out = managed<int>(N);
  Operation given;
  CHECK(cudaMemcpyFromSymbol(&given, for_the_host, sizeof given));
  fold<<<1, N>>>(given, out);
  CHECK(cudaDeviceSynchronize());
  for (int i = 0; i < N; ++i) {
    const int first = i % 3 == 0 ? i + 7 : i % 3 == 1 ? i - 7 : i * 7;
    EXPECT(out[i] == 3 * first - i);
  }
  std::puts("tables of functions PASSED");
}

// ---- a search tree: nodes inserted on the host, walked by each thread

struct Node {
  int key, left, right;
};

__device__ __noinline__ int depth_of(const Node* tree, int at) {
  if (at < 0) return 0;
  return 1 + max(depth_of(tree, tree[at].left), depth_of(tree, tree[at].right));
}
/// Visits keys in order and returns the `rank`-th; `rank` is counted down.
__device__ __noinline__ int find_rank(const Node* tree, int at, int* rank) {
  if (at < 0) return -1;
  const int left = find_rank(tree, tree[at].left, rank);
  if (left >= 0) return left;
  if ((*rank)-- == 0) return tree[at].key;
  return find_rank(tree, tree[at].right, rank);
}

__global__ void walk(const Node* tree, int* ranks, int* depths) {
  int rank = threadIdx.x;
  ranks[threadIdx.x] = find_rank(tree, 0, &rank);
  depths[threadIdx.x] = depth_of(tree, threadIdx.x);
}

static int insert(std::vector<Node>& tree, int key) {
  tree.push_back({key, -1, -1});
  const int fresh = static_cast<int>(tree.size()) - 1;
  for (int at = 0; at != fresh;) {
    int& child = key < tree[at].key ? tree[at].left : tree[at].right;
    if (child < 0) child = fresh;
    at = child;
  }
  return fresh;
}
static int host_depth(const std::vector<Node>& tree, int at) {
  return at < 0 ? 0 : 1 + std::max(host_depth(tree, tree[at].left), host_depth(tree, tree[at].right));
}

static void a_tree() {
  constexpr int KEYS = 96;
  std::vector<Node> tree;
  std::vector<int> keys;
  for (int i = 0; i < KEYS; ++i) keys.push_back(i * 61 % 97);
  for (const int key : keys) insert(tree, key);
  std::sort(keys.begin(), keys.end());
  Node* nodes = managed<Node>(KEYS);
  std::copy(tree.begin(), tree.end(), nodes);
  int *ranks = managed<int>(KEYS), *depths = managed<int>(KEYS);
  CHECK(cudaDeviceSetLimit(cudaLimitStackSize, 8192));
  walk<<<1, KEYS>>>(nodes, ranks, depths);
  CHECK(cudaDeviceSynchronize());
  for (int i = 0; i < KEYS; ++i) EXPECT(ranks[i] == keys[i] && depths[i] == host_depth(tree, i));
  std::puts("a tree PASSED");
}

// ---- quicksort of an array on each thread's stack

__device__ void sort(int* first, int* last) {
  if (last - first < 2) return;
  int sample[3] = {first[0], first[(last - first) / 2], last[-1]};
  const auto exchange = [](int& a, int& b) {
    const int t = a;
    a = b, b = t;
  };
  if (sample[0] > sample[1]) exchange(sample[0], sample[1]);
  if (sample[1] > sample[2]) exchange(sample[1], sample[2]);
  if (sample[0] > sample[1]) exchange(sample[0], sample[1]);
  const int pivot = sample[1];
  int *low = first, *high = last - 1;
  while (low <= high) {
    while (*low < pivot) ++low;
    while (*high > pivot) --high;
    if (low <= high) exchange(*low++, *high--);
  }
  sort(first, high + 1);
  sort(low, last);
}

__global__ void sort_each(unsigned seed, int* out) {
  int values[24];
  unsigned state = seed + threadIdx.x;
  for (int& value : values) value = static_cast<int>((state = state * 1664525 + 1013904223) >> 20);
  sort(values, values + 24);
  for (int i = 0; i < 24; ++i) out[threadIdx.x * 24 + i] = values[i];
}

static void quicksort() {
  int* out = managed<int>(64 * 24);
  sort_each<<<1, 64>>>(5, out);
  CHECK(cudaDeviceSynchronize());
  for (unsigned thread = 0; thread < 64; ++thread) {
    int values[24];
    unsigned state = 5 + thread;
    for (int& value : values) value = static_cast<int>((state = state * 1664525 + 1013904223) >> 20);
    std::sort(values, values + 24);
    EXPECT(std::equal(values, values + 24, out + thread * 24));
  }
  cudaFuncAttributes attributes;
  CHECK(cudaFuncGetAttributes(&attributes, sort_each));
  EXPECT(attributes.localSizeBytes >= sizeof(int[24]));
  std::puts("quicksort PASSED");
}

// ---- the stack's end

__device__ __noinline__ int down(int n, int* above) {
  int here[2] = {*above + 1, n};
  if (n > 0) *above += down(n - 1, here);
  return here[n & 1];
}
__global__ void deep(int n, int* out) { *out = down(n, out); }

static void too_deep() {
  size_t bytes = 0;
  CHECK(cudaDeviceSetLimit(cudaLimitStackSize, 2048));
  CHECK(cudaDeviceGetLimit(&bytes, cudaLimitStackSize));
  EXPECT(bytes == 2048);
  EXPECT(cudaDeviceSetLimit(cudaLimitStackSize, 1 << 30) == cudaErrorInvalidValue);
  cudaGetLastError();
  int* out = managed<int>(1000);
  deep<<<1, 1>>>(1000, out);
  std::printf("too deep: %s\n", cudaGetErrorName(cudaDeviceSynchronize()));
}

int main(int count, char** arguments) {
  if (count > 1 && std::strcmp(arguments[1], "too_deep") == 0) return too_deep(), 0;
  virtual_functions();
  tables_of_functions();
  a_tree();
  quicksort();
  return 0;
}
