// The copy kernel: moves rows of bytes between mapped pinned host memory and device memory; yields to urgent copies.
//
// One launch has `count` descriptors. Warps take granules of 32 lanes x 4 vectors of 16 bytes in turn, across all
// descriptors. Before each granule a warp reads a word in device memory, and waits while it is not 0. The CPU raises
// and lowers a word in host memory. The last block of the grid mirrors it into the device word, because polling host
// memory from every block costs bandwidth and latency (facts, section 6). That block also reads the launch's own word:
// a copy that the CPU has lifted looks at the word of the priority that it was lifted to. The waits of each warp are
// bounded, so the kernel ends with any words.
//
// Regenerate copy.ptx with benches/gpu/ptx.sh on a machine with nvcc; the host side is mod.rs.

#include "gate.cuh"
#include "guard.cuh"

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

static const u32 VECTORS = 4;
static const u64 GRANULE_VECTORS = 32 * VECTORS;
static const u64 GRANULE_BYTES = GRANULE_VECTORS * 16;

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
