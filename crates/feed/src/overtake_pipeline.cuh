// Stages for a kernel that runs on while the host feeds it. Include it in the kernel's source; it needs nothing else.
//
//   __global__ void detect(overtake_pipeline *pipeline, ...) {
//     overtake_consumer consumer = overtake_consume(pipeline);
//     while (overtake_wait(consumer)) {
//       ... read consumer.bytes, write consumer.results ...
//       overtake_release(consumer);
//     }
//   }
//
// `pipeline` is the first parameter of the kernel, which overtake::pipeline::Feed fills in. Every block gets every
// stage, and a stage is free when all blocks have released it. All threads of a block make the calls, in a grid and
// blocks of any shape; none returns before overtake_wait has answered false.
//
// The bytes of a stage change while the kernel runs. So read them by plain loads: no __ldg, and no parameter that is
// `const` and `__restrict__` may point to them.
#pragma once

// How often one thread looks at the word in the host's memory, in nanoseconds of %globaltimer. Each look is a read over
// the link, and slows copies that complete at that moment.
#define OVERTAKE_LOOK_NS 1000000ull

// The values of `order`.
#define OVERTAKE_CLOSED 1u  // the stages that are committed are the last
#define OVERTAKE_QUIT 2u    // no further stage is wanted

// In device memory. The host writes all of it before the launch (memory.rs has the same places), and afterwards the
// first two words only, in the order of a stream: behind the bytes of the stages.
struct overtake_pipeline {
  unsigned committed;  // stages that have been committed; it comes round
  unsigned order;
  unsigned reserved_host[30];
  unsigned stages;
  unsigned left;  // blocks that have ended
  unsigned long long bytes_each;
  unsigned long long results_each;
  unsigned char *bytes;    // in device memory, a stage after the other
  unsigned char *results;  // in the host's memory
  volatile unsigned *released;     // these three too: stages that all blocks have released
  volatile unsigned *ended;        // 1 when all blocks have ended
  const volatile unsigned *quits;  // not 0 if the kernel is to end
  unsigned reserved_device[16];
  unsigned arrived[256];  // blocks that have released a stage
};

// One block's place.
struct overtake_consumer {
  overtake_pipeline *pipeline;
  unsigned position;  // the number of the stage that it has, from 0; it comes round
  unsigned stage;     // its place: the number modulo the stages
  const unsigned char *bytes;
  unsigned char *results;
};

static __device__ inline bool overtake_is_first_thread() { return (threadIdx.x | threadIdx.y | threadIdx.z) == 0; }

static __device__ inline unsigned overtake_blocks() { return gridDim.x * gridDim.y * gridDim.z; }

static __device__ inline unsigned long long overtake_clock_ns() {
  unsigned long long now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

// Later reads of the block see what was written before the word.
static __device__ inline unsigned overtake_acquired(const unsigned *word) {
  unsigned value;
  asm volatile("ld.acquire.sys.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
  return value;
}

static __device__ inline void overtake_fence() { asm volatile("fence.acq_rel.sys;" ::: "memory"); }

static __device__ inline overtake_consumer overtake_consume(overtake_pipeline *pipeline) {
  overtake_consumer consumer = {pipeline, 0xffffffff, pipeline->stages - 1, 0, 0};
  return consumer;
}

// One thread's wait for the stage of this number. 0 if there will be none.
static __device__ inline int overtake_look(overtake_pipeline *pipeline, unsigned position) {
  const volatile overtake_pipeline *words = pipeline;
  bool looks_at_host = (blockIdx.x | blockIdx.y | blockIdx.z) == 0;
  unsigned long long looked_ns = overtake_clock_ns();
  for (;;) {
    unsigned order = words->order;
    if (order == OVERTAKE_QUIT) return 0;
    if ((int)(words->committed - position) > 0) {
      overtake_acquired(&pipeline->committed);
      return 1;
    }
    // The word of the last stage was written before this one.
    if (order == OVERTAKE_CLOSED) return (int)(overtake_acquired(&pipeline->committed) - position) > 0;
    if (looks_at_host && overtake_clock_ns() - looked_ns >= OVERTAKE_LOOK_NS) {
      if (*pipeline->quits) atomicExch(&pipeline->order, OVERTAKE_QUIT);
      looked_ns = overtake_clock_ns();
    }
  }
}

// The block ends. The last one tells the host.
static __device__ inline void overtake_leave(overtake_pipeline *pipeline) {
  overtake_fence();
  if (atomicAdd(&pipeline->left, 1) + 1 != overtake_blocks()) return;
  overtake_fence();
  *pipeline->ended = 1;
}

// Waits for the next stage. False when there is none any more: then the block ends.
static __device__ inline bool overtake_wait(overtake_consumer &consumer) {
  overtake_pipeline *pipeline = consumer.pipeline;
  consumer.position += 1;
  consumer.stage = consumer.stage + 1 == pipeline->stages ? 0 : consumer.stage + 1;
  bool is_there = __syncthreads_or(overtake_is_first_thread() && overtake_look(pipeline, consumer.position));
  if (!is_there && overtake_is_first_thread()) overtake_leave(pipeline);
  consumer.bytes = pipeline->bytes + consumer.stage * pipeline->bytes_each;
  consumer.results = pipeline->results + consumer.stage * pipeline->results_each;
  return is_there;
}

// The block has done with the stage. The host gets it, with its results, when all blocks have.
static __device__ inline void overtake_release(const overtake_consumer &consumer) {
  __syncthreads();
  if (!overtake_is_first_thread()) return;
  overtake_pipeline *pipeline = consumer.pipeline;
  overtake_fence();
  if (atomicAdd(&pipeline->arrived[consumer.stage], 1) + 1 != overtake_blocks()) return;
  pipeline->arrived[consumer.stage] = 0;
  overtake_fence();
  *pipeline->released = consumer.position + 1;
}
