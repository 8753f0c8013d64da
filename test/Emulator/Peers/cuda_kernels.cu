// Kernels in CUDA C++: code that nvcc compiles, to try the emulator on.
//
//   nvcc -std=c++17 -arch=sm_80 -ptx -o cuda_sm80.ptx cuda_kernels.cu
//   nvcc -std=c++17 -arch=sm_90a -ptx -o cuda_sm90.ptx cuda_kernels.cu
//
// Made with CUDA 13.0; the tests use the committed output.
#include <cooperative_groups.h>
#include <cuda/barrier>
#include <cuda_bf16.h>
#include <cuda_pipeline.h>
#include <mma.h>

// Row-wise layer norm: a warp shuffle reduction, then one over warps.
__device__ float sumBlock(float value) {
  __shared__ float partial[32];
  for (int offset = 16; offset; offset /= 2)
    value += __shfl_xor_sync(~0u, value, offset);
  __syncthreads();
  if (threadIdx.x % 32 == 0)
    partial[threadIdx.x / 32] = value;
  __syncthreads();
  value = 0;
  for (int i = 0; i < blockDim.x / 32; ++i)
    value += partial[i];
  return value;
}

extern "C" __global__ void layer_norm(float *y, const float *x, int columns,
                                      float eps) {
  const float *row = x + size_t(blockIdx.x) * columns;
  float sum = 0;
  for (int i = threadIdx.x; i < columns; i += blockDim.x)
    sum += row[i];
  float mean = sumBlock(sum) / columns;
  float squares = 0;
  for (int i = threadIdx.x; i < columns; i += blockDim.x)
    squares += (row[i] - mean) * (row[i] - mean);
  float scale = rsqrtf(sumBlock(squares) / columns + eps);
  for (int i = threadIdx.x; i < columns; i += blockDim.x)
    y[size_t(blockIdx.x) * columns + i] = (row[i] - mean) * scale;
}

// C = A B in bf16 by the warp matrix functions; 64 x 64 per CTA of 4 warps, with
// a cp.async double buffer.
extern "C" __global__ void wmma_matmul(float *c, const __nv_bfloat16 *a,
                                       const __nv_bfloat16 *b, int n, int k) {
  using namespace nvcuda;
  __shared__ __align__(32) __nv_bfloat16 left[2][64][32 + 16];
  __shared__ __align__(32) __nv_bfloat16 right[2][32][64 + 16];
  const int row = blockIdx.y * 64, column = blockIdx.x * 64;
  auto load = [&](int stage, int start) {
    for (int i = threadIdx.x; i < 64 * 4; i += blockDim.x)
      __pipeline_memcpy_async(&left[stage][i / 4][i % 4 * 8],
                              a + (row + i / 4) * k + start + i % 4 * 8, 16);
    for (int i = threadIdx.x; i < 32 * 8; i += blockDim.x)
      __pipeline_memcpy_async(&right[stage][i / 8][i % 8 * 8],
                              b + (start + i / 8) * n + column + i % 8 * 8, 16);
    __pipeline_commit();
  };
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum[4];
  for (auto &fragment : sum)
    wmma::fill_fragment(fragment, 0.f);
  load(0, 0);
  for (int start = 0, stage = 0; start < k; start += 32, stage ^= 1) {
    if (start + 32 < k)
      load(stage ^ 1, start + 32);
    __pipeline_wait_prior(start + 32 < k ? 1 : 0);
    __syncthreads();
    for (int step = 0; step < 32; step += 16) {
      wmma::fragment<wmma::matrix_a, 16, 16, 16, __nv_bfloat16,
                     wmma::row_major>
          fa;
      wmma::load_matrix_sync(fa, &left[stage][threadIdx.x / 32 * 16][step], 48);
      for (int i = 0; i < 4; ++i) {
        wmma::fragment<wmma::matrix_b, 16, 16, 16, __nv_bfloat16,
                       wmma::row_major>
            fb;
        wmma::load_matrix_sync(fb, &right[stage][step][i * 16], 80);
        wmma::mma_sync(sum[i], fa, fb, sum[i]);
      }
    }
    __syncthreads();
  }
  for (int i = 0; i < 4; ++i)
    wmma::store_matrix_sync(
        c + (row + threadIdx.x / 32 * 16) * n + column + i * 16, sum[i], n,
        wmma::mem_row_major);
}

// Counts bytes: atomics in shared memory, then in global memory.
extern "C" __global__ void histogram(unsigned *counts,
                                     const unsigned char *data, int size) {
  __shared__ unsigned local[256];
  for (int i = threadIdx.x; i < 256; i += blockDim.x)
    local[i] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < size;
       i += gridDim.x * blockDim.x)
    atomicAdd(&local[data[i]], 1);
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += blockDim.x)
    atomicAdd(&counts[i], local[i]);
}

// One sum over all CTAs: the last one to arrive adds what the others left.
extern "C" __global__ void sum_last_block(float *result, float *partial,
                                          unsigned *arrived, const float *data,
                                          int size) {
  __shared__ bool last;
  float sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < size;
       i += gridDim.x * blockDim.x)
    sum += data[i];
  sum = sumBlock(sum);
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = sum;
    __threadfence();
    last = atomicAdd(arrived, 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && threadIdx.x == 0) {
    __threadfence();
    float total = 0;
    for (int i = 0; i < gridDim.x; ++i)
      total += static_cast<volatile float *>(partial)[i];
    *result = total;
  }
}

// Two warps hand a buffer back and forth through cuda::barrier: mbarriers.
extern "C" __global__ void ping_pong(int *out, int rounds) {
  using Barrier = cuda::barrier<cuda::thread_scope_block>;
  __shared__ int buffer[32];
#pragma nv_diag_suppress static_var_with_dynamic_init
  __shared__ Barrier full, empty;
  if (threadIdx.x == 0) {
    init(&full, 64);
    init(&empty, 64);
  }
  __syncthreads();
  int total = 0;
  for (int i = 0; i < rounds; ++i) {
    if (threadIdx.x < 32) {
      buffer[threadIdx.x] = i * 32 + threadIdx.x;
      full.arrive_and_wait();
      empty.arrive_and_wait();
    } else {
      full.arrive_and_wait();
      total += buffer[63 - threadIdx.x];
      empty.arrive_and_wait();
    }
  }
  if (threadIdx.x >= 32)
    out[threadIdx.x - 32] = total;
}

#if __CUDA_ARCH__ >= 900
// The sum over a cluster's CTAs through distributed shared memory.
extern "C" __global__ void __cluster_dims__(4, 1, 1)
    cluster_sum(float *result, const float *data) {
  namespace cg = cooperative_groups;
  cg::cluster_group cluster = cg::this_cluster();
  __shared__ float mine[64];
  mine[threadIdx.x] = data[blockIdx.x * 64 + threadIdx.x];
  cluster.sync();
  float sum = 0;
  for (unsigned rank = 0; rank < cluster.num_blocks(); ++rank)
    sum += cluster.map_shared_rank(mine, rank)[threadIdx.x];
  cluster.sync();
  result[blockIdx.x * 64 + threadIdx.x] = sum;
}
#endif
