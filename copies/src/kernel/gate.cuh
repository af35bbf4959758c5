// The word that a launch yields to: the parameter, a warp's view of it, and the block that mirrors it.
#pragma once

typedef unsigned int u32;
typedef unsigned long long u64;

// The word that a launch yields to. `host` null: it yields to none, and the grid has no mirroring block.
struct Gate {
  const volatile u32 *host;
  volatile u32 *mirror;  // in device memory, 0 before and after the launch
  u32 *finished;         // in device memory, 0 before and after the launch
  u64 wait_ns_max;
  const volatile u32 *lift;  // in host memory, or null: while it is not 0, host[*lift] counts in place of host[0]
};

static __device__ u64 now_ns() {
  u64 now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  return now;
}

// A warp's view of the gate.
struct Yield {
  volatile u32 *mirror;
  u64 left_ns;
  u32 seen;

  __device__ void look() {
    if (mirror) seen = *mirror;
  }

  __device__ void stand_still() {
    if (!seen) return;
    u64 began = now_ns(), now = began;
    while (seen != 0 && now - began < left_ns) {
      __nanosleep(100);
      seen = *mirror;
      now = now_ns();
    }
    u64 spent = now - began;
    left_ns = spent < left_ns ? left_ns - spent : 0;
    if (left_ns == 0) {
      mirror = 0;  // the launch has waited as long as it may
      seen = 0;
    }
  }
};

// The last block: keeps the device word equal to the host word until every worker block has finished.
static __device__ void mirror(const Gate &gate, u32 workers) {
  if (threadIdx.x != 0) return;
  u32 last = 0;
  while (*(volatile u32 *)gate.finished < workers) {
    // Both reads are under way at once. The third comes only while the first word holds a lifted launch up.
    u32 word = *gate.host, lift = gate.lift ? *gate.lift : 0;
    if (word && lift) word = gate.host[lift];
    if (word != last) *gate.mirror = last = word;
    __nanosleep(50);
  }
  *gate.mirror = 0;
  *gate.finished = 0;
}
