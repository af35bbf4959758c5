// The protocol of a guarded launch, on the device.
#pragma once

#include "gate.cuh"

// The words by which a guarded launch and the host agree which of them makes this copy: the kernel, or the copy engine
// if no multiprocessor was free in time. README.md of src/guard explains the protocol.
struct Guard {
  volatile u32 *started;        // in host memory: the launch that has begun in full
  const volatile u32 *cancel;   // in host memory: launches up to this one that have not decided shall not copy
  volatile u32 *outcome;        // in host memory: twice the launch, plus 1 if it does not copy
  volatile u32 *done;           // in host memory: the launch whose copy is complete
  u32 *state;                   // in device memory, four words, 0 before and after the launch
  u32 number;
  u32 reserved;
};

enum { ARRIVED = 0, VERDICT = 1, WORKED = 2, LEFT = 3 };  // words of `state`
enum { UNDECIDED = 0, COPYING = 1, CANCELLED = 2 };       // values of state[VERDICT]

static __device__ bool is_cancelled(const Guard &guard) { return (int)(*guard.cancel - guard.number) >= 0; }

// The first thread that decides does so for all threads, and tells the host.
static __device__ u32 settle(const Guard &guard, u32 wanted) {
  u32 before = atomicCAS(guard.state + VERDICT, UNDECIDED, wanted);
  if (before != UNDECIDED) return before;
  *guard.outcome = 2 * guard.number + (wanted == CANCELLED);
  return wanted;
}

// The last block to arrive decides, because only then do all blocks run, and the copy will end. It writes that it has
// started before it reads whether it is cancelled; the host cancels before it reads whether the kernel has started. So
// one of the two sees the other. Blocks that wait for the last one can be cancelled too, because the kernel that keeps
// the last one away may wait for their place.
static __device__ u32 verdict_of_one(const Guard &guard) {
  if (atomicAdd(guard.state + ARRIVED, 1) == gridDim.x - 1) {
    *guard.started = guard.number;
    __threadfence_system();
    return settle(guard, is_cancelled(guard) ? CANCELLED : COPYING);
  }
  volatile u32 *verdict = guard.state + VERDICT;
  u32 found = *verdict;
  for (u32 turn = 1; found == UNDECIDED; turn++) {
    __nanosleep(100);
    // Rarely: a read of host memory takes longer than the other blocks need to arrive.
    found = turn % 64 == 0 && is_cancelled(guard) ? settle(guard, CANCELLED) : *verdict;
  }
  return found;
}

// `verdict` is a shared word of the kernel. A shared word of this function would have another name in every build, and
// ptx.sh could not compare them.
static __device__ bool may_copy(const Guard &guard, u32 &verdict) {
  if (threadIdx.x == 0) verdict = verdict_of_one(guard);
  __syncthreads();
  return verdict == COPYING;
}

// The last block that ends its work writes that the copy is complete, which releases the stream that waits for it.
static __device__ void has_worked(const Guard &guard, u32 workers) {
  if (threadIdx.x != 0 || atomicAdd(guard.state + WORKED, 1) != workers - 1) return;
  __threadfence_system();
  *guard.done = guard.number;
}

static __device__ void leave(const Guard &guard) {
  __syncthreads();
  if (threadIdx.x != 0 || atomicAdd(guard.state + LEFT, 1) != gridDim.x - 1) return;
  for (u32 word = ARRIVED; word <= LEFT; word++) guard.state[word] = 0;
}
