// The copy kernel: moves rows of bytes between mapped pinned host memory and device memory; yields to urgent copies.
//
// One launch has `count` descriptors. Warps take granules of 32 lanes x 4 vectors of 16 bytes in turn, across all
// descriptors. Before each granule a warp reads a word in device memory, and waits while it is not 0. The CPU raises
// and lowers a word in host memory. The last block of the grid mirrors it into the device word, because polling host
// memory from every block costs bandwidth and latency (facts, section 6). The waits of each warp are bounded, so the
// kernel ends with any words.
//
// Regenerate copy.ptx with tests/gpu/ptx.sh on a machine with nvcc; the host side is mod.rs.

typedef unsigned int u32;
typedef unsigned long long u64;

enum { COPY = 0, SET = 1 };

struct Descriptor {
  u64 target, source, width_bytes, rows, target_pitch_bytes, source_pitch_bytes;
  u32 kind, value;  // SET fills with the 4 bytes of `value`, repeated from each row's first byte
  u64 reserved;
};

struct Inline {
  Descriptor descriptors[8];
};

// For bulk: a batch is one launch, which takes so long that the cost of its parameters does not matter.
struct InlineMany {
  Descriptor descriptors[64];
};

// The word that a launch yields to. `host` null: it yields to none, and the grid has no mirroring block.
struct Gate {
  const volatile u32 *host;
  volatile u32 *mirror;  // in device memory, 0 before and after the launch
  u32 *finished;         // in device memory, 0 before and after the launch
  u64 wait_ns_max;
};

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

static const u32 VECTORS = 4;
static const u64 GRANULE_VECTORS = 32 * VECTORS;
static const u64 GRANULE_BYTES = GRANULE_VECTORS * 16;

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

template <typename Unit>
static __device__ void move_units(u64 target, u64 source, u64 bytes, u32 lane) {
  const Unit *from = (const Unit *)source;
  Unit *to = (Unit *)target;
  for (u64 i = lane; i < bytes / sizeof(Unit); i += 32) to[i] = from[i];
}

static __device__ void move_bytes(u64 target, u64 source, u64 bytes, u32 lane) {
  for (u64 i = lane; i < bytes; i += 32) ((unsigned char *)target)[i] = ((const unsigned char *)source)[i];
}

// A full granule with 16-byte alignment on both sides: all loads first, the gate read while they are in flight.
static __device__ void move_granule(u64 target, u64 source, u32 lane, Yield &yield) {
  const uint4 *from = (const uint4 *)source + lane;
  uint4 *to = (uint4 *)target + lane;
  uint4 held[VECTORS];
#pragma unroll
  for (u32 i = 0; i < VECTORS; i++) held[i] = __ldcs(from + i * 32);
  yield.look();
#pragma unroll
  for (u32 i = 0; i < VECTORS; i++) __stcs(to + i * 32, held[i]);
}

// Part of a row that is not a full aligned granule: by the widest unit that both addresses allow.
static __device__ void move_rest(u64 target, u64 source, u64 bytes, u32 lane) {
  if (((target ^ source) & 15) == 0) {
    u64 head = (16 - (target & 15)) & 15;
    head = head < bytes ? head : bytes;
    u64 body = (bytes - head) & ~15ull;
    move_bytes(target, source, head, lane);
    move_units<uint4>(target + head, source + head, body, lane);
    move_bytes(target + head + body, source + head + body, bytes - head - body, lane);
  } else if (((target ^ source) & 3) == 0) {
    u64 head = (4 - (target & 3)) & 3;
    head = head < bytes ? head : bytes;
    u64 body = (bytes - head) & ~3ull;
    move_bytes(target, source, head, lane);
    move_units<u32>(target + head, source + head, body, lane);
    move_bytes(target + head + body, source + head + body, bytes - head - body, lane);
  } else {
    move_bytes(target, source, bytes, lane);
  }
}

static __device__ void set_rest(u64 target, u64 offset, u64 bytes, u32 value, u32 lane) {
  for (u64 i = lane; i < bytes; i += 32) ((unsigned char *)target)[i] = value >> (8 * ((offset + i) & 3));
}

static __device__ void granule(const Descriptor &d, u64 index, u64 per_row, u32 lane, Yield &yield) {
  u64 row = index / per_row, offset = (index - row * per_row) * GRANULE_BYTES;
  u64 left = d.width_bytes - offset, bytes = left < GRANULE_BYTES ? left : GRANULE_BYTES;
  u64 target = d.target + row * d.target_pitch_bytes + offset;
  if (d.kind == SET) {
    set_rest(target, offset, bytes, d.value, lane);
    yield.look();
    return;
  }
  u64 source = d.source + row * d.source_pitch_bytes + offset;
  if (bytes == GRANULE_BYTES && ((target | source) & 15) == 0) {
    move_granule(target, source, lane, yield);
  } else {
    move_rest(target, source, bytes, lane);
    yield.look();
  }
}

static __device__ void work(const Descriptor *descriptors, u32 count, const Gate &gate, u32 workers) {
  u32 lane = threadIdx.x & 31, warps_per_block = blockDim.x >> 5;
  u64 warp = blockIdx.x * warps_per_block + (threadIdx.x >> 5), warps = (u64)workers * warps_per_block;
  Yield yield = {gate.host ? gate.mirror : 0, gate.wait_ns_max, 0};
  yield.look();
  u64 before = 0;  // granules of the descriptors before this one: small descriptors go to different warps
  for (u32 k = 0; k < count; k++) {
    const Descriptor &d = descriptors[k];
    u64 per_row = (d.width_bytes + GRANULE_BYTES - 1) / GRANULE_BYTES, total = per_row * d.rows;
    for (u64 index = (warp + warps - before % warps) % warps; index < total; index += warps) {
      yield.stand_still();
      granule(d, index, per_row, lane, yield);
    }
    before += total;
  }
}

// The last block: keeps the device word equal to the host word until every worker block has finished.
static __device__ void mirror(const Gate &gate, u32 workers) {
  if (threadIdx.x != 0) return;
  u32 last = 0;
  while (*(volatile u32 *)gate.finished < workers) {
    u32 word = *gate.host;
    if (word != last) *gate.mirror = last = word;
    __nanosleep(50);
  }
  *gate.mirror = 0;
  *gate.finished = 0;
}

static __device__ void run(const Descriptor *descriptors, u32 count, const Gate &gate) {
  u32 workers = gate.host ? gridDim.x - 1 : gridDim.x;
  if (blockIdx.x == workers) {
    mirror(gate, workers);
    return;
  }
  work(descriptors, count, gate, workers);
  __threadfence_system();
  __syncthreads();
  if (gate.host && threadIdx.x == 0) atomicAdd(gate.finished, 1);
}

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

extern "C" __global__ void __launch_bounds__(512)
    overtake_copy_guarded(const __grid_constant__ InlineMany table, u32 count, const __grid_constant__ Gate gate,
                          const __grid_constant__ Guard guard) {
  __shared__ u32 verdict;
  if (may_copy(guard, verdict)) {
    u32 workers = gate.host ? gridDim.x - 1 : gridDim.x;
    run(table.descriptors, count, gate);
    if (blockIdx.x < workers) has_worked(guard, workers);
  }
  leave(guard);
}

extern "C" __global__ void __launch_bounds__(512)
    overtake_copy(const __grid_constant__ Inline table, u32 count, const __grid_constant__ Gate gate) {
  run(table.descriptors, count, gate);
}

// The same for more descriptors than fit a parameter; `table` is mapped pinned memory.
extern "C" __global__ void __launch_bounds__(512)
    overtake_copy_table(const Descriptor *table, u32 count, const __grid_constant__ Gate gate) {
  run(table, count, gate);
}

// inc and dec of the `atomics` emulation.
extern "C" __global__ void overtake_add(u32 *word, int value) { atomicAdd_system(word, value); }
