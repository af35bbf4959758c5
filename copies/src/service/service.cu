// The kernel of the copy service: many small copies and sets in one launch.
//
// One launch has `count` pieces, in mapped pinned memory. Each warp takes pieces in turn, and reads its next one over
// the bus while it moves the bytes of the last. So many small copies go side by side, where a kernel that walks all its
// descriptors with all its warps would read each of them as often as it has warps.
//
// This module is one of its own so that the copy kernel works where this one cannot be loaded.
//
// Regenerate service.ptx with benches/gpu/ptx.sh on a machine with nvcc; the host side is kernel.rs.

#include "../kernel/gate.cuh"
#include "../kernel/guard.cuh"

enum { COPY = 0, SET = 1 };

struct Piece {
  u64 target, source;
  u32 bytes, kind;
  u32 value, reserved;  // SET fills with the 4 bytes of `value`, repeated from the first byte
};

static const u32 GRANULE_BYTES = 2048;

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
