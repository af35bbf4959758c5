// The kernel of the copy service: many small copies and sets in one launch.
//
// One launch has `count` pieces, in mapped pinned memory. Each warp takes pieces in turn, and reads its next one over
// the bus while it moves the bytes of the last. So many small copies go side by side, where a kernel that walks all its
// descriptors with all its warps would read each of them as often as it has warps.
//
// The word that a launch yields to and the words by which the host cancels it are those of ../kernel/copy.cu, with the
// same protocol. This module is one of its own so that the copy kernel works where this one cannot be loaded.
//
// Regenerate service.ptx with tests/gpu/ptx.sh on a machine with nvcc; the host side is kernel.rs.

typedef unsigned int u32;
typedef unsigned long long u64;

enum { COPY = 0, SET = 1 };

struct Piece {
  u64 target, source;
  u32 bytes, kind;
  u32 value, reserved;  // SET fills with the 4 bytes of `value`, repeated from the first byte
};

// `Gate` in copy.cu.
struct Gate {
  const volatile u32 *host;
  volatile u32 *mirror;  // in device memory, 0 before and after the launch
  u32 *finished;         // in device memory, 0 before and after the launch
  u64 wait_ns_max;
};

// `Guard` in copy.cu.
struct Guard {
  volatile u32 *started;
  const volatile u32 *cancel;
  volatile u32 *outcome;
  volatile u32 *done;
  u32 *state;  // in device memory, four words, 0 before and after the launch
  u32 number;
  u32 reserved;
};

enum { ARRIVED = 0, VERDICT = 1, WORKED = 2, LEFT = 3 };  // words of `state`
enum { UNDECIDED = 0, COPYING = 1, CANCELLED = 2 };       // values of state[VERDICT]

static const u32 GRANULE_BYTES = 2048;

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

// The whole units of a granule: each lane has EACH loads under way before its first store.
template <typename Unit, u32 EACH>
static __device__ void move_units(u64 target, u64 source, u32 bytes, u32 lane) {
  const Unit *from = (const Unit *)source;
  Unit *to = (Unit *)target;
  u32 units = bytes / sizeof(Unit);
  for (u32 first = lane; first < units; first += 32 * EACH) {
    Unit held[EACH];
#pragma unroll
    for (u32 i = 0; i < EACH; i++)
      if (first + i * 32 < units) held[i] = __ldcs(from + first + i * 32);
#pragma unroll
    for (u32 i = 0; i < EACH; i++)
      if (first + i * 32 < units) __stcs(to + first + i * 32, held[i]);
  }
}

// At most 15 bytes: those before the first and after the last that are aligned.
static __device__ void move_few(u64 target, u64 source, u32 bytes, u32 lane) {
  if (lane < bytes) ((unsigned char *)target)[lane] = ((const unsigned char *)source)[lane];
}

template <typename Unit, u32 EACH>
static __device__ void move_aligned(u64 target, u64 source, u32 bytes, u32 lane) {
  u32 head = (u32)(0 - target) & (sizeof(Unit) - 1);
  head = head < bytes ? head : bytes;
  u32 body = (bytes - head) & ~(u32)(sizeof(Unit) - 1);
  move_few(target, source, head, lane);
  move_units<Unit, EACH>(target + head, source + head, body, lane);
  move_few(target + head + body, source + head + body, bytes - head - body, lane);
}

static __device__ void move(u64 target, u64 source, u32 bytes, u32 lane) {
  if (((target ^ source) & 15) == 0) {
    move_aligned<uint4, 4>(target, source, bytes, lane);
  } else if (((target ^ source) & 3) == 0) {
    move_aligned<u32, 8>(target, source, bytes, lane);
  } else {
    move_units<unsigned char, 8>(target, source, bytes, lane);
  }
}

static __device__ void set_bytes(u64 target, u32 offset, u32 bytes, u32 value, u32 lane) {
  for (u32 i = lane; i < bytes; i += 32) ((unsigned char *)target)[i] = value >> (8 * ((offset + i) & 3));
}

// Fills; the first byte of `value` goes to `target`.
static __device__ void set(u64 target, u32 bytes, u32 value, u32 lane) {
  u32 head = (u32)(0 - target) & 15;
  head = head < bytes ? head : bytes;
  u32 body = (bytes - head) & ~15u;
  u32 turned = __funnelshift_r(value, value, 8 * (head & 3));
  set_bytes(target, 0, head, value, lane);
  uint4 *to = (uint4 *)(target + head);
  for (u32 i = lane; i < body / 16; i += 32) __stcs(to + i, make_uint4(turned, turned, turned, turned));
  set_bytes(target + head + body, head + body, bytes - head - body, value, lane);
}

// The table's memory is written again for later launches, so no cache may keep it.
static __device__ Piece piece_at(const Piece *table, u32 index) {
  const uint4 *words = (const uint4 *)(table + index);
  uint4 ends = __ldcv(words), rest = __ldcv(words + 1);
  Piece piece;
  piece.target = (u64)ends.y << 32 | ends.x;
  piece.source = (u64)ends.w << 32 | ends.z;
  piece.bytes = rest.x, piece.kind = rest.y, piece.value = rest.z, piece.reserved = 0;
  return piece;
}

static __device__ void work(const Piece *table, u32 count, const Gate &gate, u32 workers) {
  u32 lane = threadIdx.x & 31, warps_per_block = blockDim.x >> 5;
  u32 warp = blockIdx.x * warps_per_block + (threadIdx.x >> 5), warps = workers * warps_per_block;
  Yield yield = {gate.host ? gate.mirror : 0, gate.wait_ns_max, 0};
  yield.look();
  if (warp >= count) return;
  Piece next = piece_at(table, warp);
  for (u32 index = warp; index < count; index += warps) {
    Piece piece = next;
    if (index + warps < count) next = piece_at(table, index + warps);
    for (u32 at = 0; at < piece.bytes; at += GRANULE_BYTES) {
      u32 left = piece.bytes - at, bytes = left < GRANULE_BYTES ? left : GRANULE_BYTES;
      yield.stand_still();
      if (piece.kind == SET) {
        set(piece.target + at, bytes, piece.value, lane);
      } else {
        move(piece.target + at, piece.source + at, bytes, lane);
      }
      yield.look();
    }
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

static __device__ void run(const Piece *table, u32 count, const Gate &gate) {
  u32 workers = gate.host ? gridDim.x - 1 : gridDim.x;
  if (blockIdx.x == workers) {
    mirror(gate, workers);
    return;
  }
  work(table, count, gate, workers);
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

// The last block to arrive decides; copy.cu says why.
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

// `verdict` is a shared word of the kernel, because the names of a function's shared words differ from build to build.
static __device__ bool may_copy(const Guard &guard, u32 &verdict) {
  if (threadIdx.x == 0) verdict = verdict_of_one(guard);
  __syncthreads();
  return verdict == COPYING;
}

// The last block that ends its work writes that the batch is complete, which releases the stream that waits for it.
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
    overtake_serve_guarded(const Piece *table, u32 count, const __grid_constant__ Gate gate,
                           const __grid_constant__ Guard guard) {
  __shared__ u32 verdict;
  if (may_copy(guard, verdict)) {
    u32 workers = gate.host ? gridDim.x - 1 : gridDim.x;
    run(table, count, gate);
    if (blockIdx.x < workers) has_worked(guard, workers);
  }
  leave(guard);
}

extern "C" __global__ void __launch_bounds__(512)
    overtake_serve(const Piece *table, u32 count, const __grid_constant__ Gate gate) {
  run(table, count, gate);
}
