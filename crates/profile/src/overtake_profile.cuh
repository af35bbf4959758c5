// Per-block events of CUDA kernels, for overtake's traces. Include it in a kernel's source; it needs nothing else.
//
//   __global__ void blur(..., overtake_profile *profile, unsigned kernel) {
//     overtake_block block = overtake_begin(profile, kernel);
//     ...
//     overtake_end(block);
//   }
//
// `profile` is the pointer of overtake::profile::Recording, and null while no events are collected: then each of the
// two calls is a comparison. `kernel` is the number that overtake::profile::Profiler::register has given to its name.
//
// All threads of a block call both, and no thread returns in between. An event has the times of the block's first
// thread to begin and, behind a barrier, of its last one to end, in nanoseconds of %globaltimer.
#pragma once

// One block. The host reads it as 32 bytes (events.rs).
struct overtake_event {
  unsigned long long begin_ns;
  unsigned long long end_ns;  // 0 until the block has ended
  unsigned block;             // its number in the grid, x first
  unsigned kernel;
  unsigned multiprocessor;
  unsigned reserved;
};

// The buffer of a batch: eight words, and the events. The host clears the words before the batch.
struct overtake_profile {
  unsigned taken;     // events that have been asked for: more than `capacity` by a few at most
  unsigned capacity;
  unsigned lost;      // events that found no room
  unsigned reserved[5];
  overtake_event events[1];
};

struct overtake_block {
  overtake_event *event;  // null in all threads but one, and where no event is collected
  bool is_profiled;
};

static __device__ inline unsigned long long overtake_now_ns() {
  unsigned long long now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

static __device__ inline unsigned overtake_multiprocessor() {
  unsigned number;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(number));
  return number;
}

// Looked at before it is raised, so that the counter never comes round, however many blocks there are.
static __device__ inline overtake_event *overtake_take(overtake_profile *profile) {
  if (*(volatile unsigned *)&profile->taken < profile->capacity) {
    unsigned place = atomicAdd(&profile->taken, 1);
    if (place < profile->capacity) return profile->events + place;
  }
  if (*(volatile unsigned *)&profile->lost != 0xffffffff) atomicAdd(&profile->lost, 1);
  return 0;
}

static __device__ inline overtake_block overtake_begin(overtake_profile *profile, unsigned kernel) {
  overtake_block block = {0, profile != 0};
  if (!profile || (threadIdx.x | threadIdx.y | threadIdx.z) != 0) return block;
  block.event = overtake_take(profile);
  if (!block.event) return block;
  block.event->block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  block.event->kernel = kernel;
  block.event->multiprocessor = overtake_multiprocessor();
  block.event->end_ns = 0;
  block.event->begin_ns = overtake_now_ns();
  return block;
}

static __device__ inline void overtake_end(const overtake_block &block) {
  if (!block.is_profiled) return;
  __syncthreads();
  if (block.event) block.event->end_ns = overtake_now_ns();
}
