// A kernel whose blocks note their times, by the header that users include.
//
// Regenerate profiled.ptx with benches/gpu/ptx.sh on a machine with nvcc. Its twin is profiled.rs.
#include "../../profile/src/overtake_profile.cuh"

// Each block runs for `span_ns`.
extern "C" __global__ void work_profiled(overtake_profile *profile, unsigned kernel, unsigned long long span_ns) {
  overtake_block block = overtake_begin(profile, kernel);
  unsigned long long began = overtake_now_ns();
  while (overtake_now_ns() - began < span_ns) __nanosleep(100);
  overtake_end(block);
}
