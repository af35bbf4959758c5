// A kernel that runs on and consumes stages, by the header that users include.
//
// Regenerate streamed.ptx with benches/gpu/ptx.sh on a machine with nvcc. Its twin is streamed.rs.
#include "../../feed/src/overtake_pipeline.cuh"

// Adds up the words of each stage, each block its share: the results of a stage are the sum of each block. Each stage
// takes `span_ns` at least. As it begins, the first block writes the number of stages that have begun to `begun`,
// unless that is null.
extern "C" __global__ void work_streamed(overtake_pipeline *pipeline, unsigned *begun, unsigned long long span_ns) {
  __shared__ unsigned long long sum;
  overtake_consumer consumer = overtake_consume(pipeline);
  while (overtake_wait(consumer)) {
    if (begun && blockIdx.x == 0 && threadIdx.x == 0) *(volatile unsigned *)begun = consumer.position + 1;
    unsigned long long began_ns = overtake_clock_ns();
    if (threadIdx.x == 0) sum = 0;
    __syncthreads();
    const unsigned *words = (const unsigned *)consumer.bytes;
    unsigned long long count = pipeline->bytes_each / 4, own = 0;
    for (unsigned long long at = blockIdx.x * blockDim.x + threadIdx.x; at < count; at += gridDim.x * blockDim.x)
      own += words[at];
    atomicAdd(&sum, own);
    __syncthreads();
    if (threadIdx.x == 0) ((unsigned long long *)consumer.results)[blockIdx.x] = sum;
    while (overtake_clock_ns() - began_ns < span_ns) __nanosleep(100);
    overtake_release(consumer);
  }
}

// The same work on one stage, in a launch of its own.
extern "C" __global__ void work_launched(const unsigned *words, unsigned long long count, unsigned long long *results,
                                         unsigned *begun, unsigned number) {
  __shared__ unsigned long long sum;
  if (begun && blockIdx.x == 0 && threadIdx.x == 0) *(volatile unsigned *)begun = number;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  unsigned long long own = 0;
  for (unsigned long long at = blockIdx.x * blockDim.x + threadIdx.x; at < count; at += gridDim.x * blockDim.x)
    own += words[at];
  atomicAdd(&sum, own);
  __syncthreads();
  if (threadIdx.x == 0) results[blockIdx.x] = sum;
}
