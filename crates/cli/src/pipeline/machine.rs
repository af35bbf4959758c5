//! The machine of a plan, from the parameters of a software GPU.

use hal::Nanos;
use overtake::options::Profile;
use overtake_plan::latency::Machine;
use softgpu::Parameters;

/// Calls of the driver that a part of a frame takes, at most.
const CALLS: u64 = 8;
/// The thread that watches the device sees an end so late at most (`tasks/src/dispatch/README.md`, *Marks*).
const WATCH: Nanos = Nanos::from_us(200);

/// The parts of their rates that copies keep while kernels make bulk copies of the other direction: to the device, and
/// to the host. The software GPU has no such loss. Measured on an H100 (`reports/tolerance`): a camera of 4K beside
/// bulk both ways, without a tolerance, has 33.7 GB/s of 53.5 in the median, and 39.4.
const KEPT_BESIDE_KERNELS: [f64; 2] = [0.6, 0.7];

/// Takes the rates beside kernels that make bulk copies from those beside other bulk.
pub fn expect_beside_kernels(machine: &mut Machine) {
    let [h2d, d2h] = KEPT_BESIDE_KERNELS;
    machine.h2d_beside_kernels_gbps = machine.h2d_gbps * h2d;
    machine.d2h_beside_kernels_gbps = machine.d2h_gbps * d2h;
}

/// The worst cases of these parameters.
pub fn of(parameters: &Parameters) -> Machine {
    let Parameters { engine, kernel, .. } = parameters;
    let copy_setup = engine.h2d_setup_ns.max(engine.d2h_setup_ns) + engine.switch_ns;
    let mut machine = Machine {
        h2d_gbps: engine.h2d_gbps,
        d2h_gbps: engine.d2h_gbps,
        h2d_beside_kernels_gbps: engine.h2d_gbps,
        d2h_beside_kernels_gbps: engine.d2h_gbps,
        copy_setup: Nanos(copy_setup),
        kernel_setup: Nanos(kernel.start_ns + kernel.start_behind_reads_ns + kernel.start_beside_looks_ns),
        step: Nanos(host_ns(parameters) + device_ns(parameters)),
        notice: Nanos(host_ns(parameters) + WATCH.0),
        blocking: Nanos(blocking_ns(parameters)),
    };
    expect_beside_kernels(&mut machine);
    machine
}

/// The calls of a part, on a thread that has slept.
fn host_ns(parameters: &Parameters) -> u64 {
    let host = &parameters.host;
    let call_ns = host.copy_ns.max(host.copy_d2h_ns).max(host.launch_ns);
    let calls_ns = call_ns
        + 2 * (host.memop_ns + host.event_record_ns + host.stream_wait_event_ns)
        + host.query_ns
        + CALLS * (host.pointer_ns + host.clock_ns);
    let cold_ns = (calls_ns as f64 * host.cold_slowdown_max) as u64;
    calls_ns + cold_ns + CALLS * host.cold_entry_ns
}

/// From the end of a part until the device begins the next one that waits for it.
fn device_ns(parameters: &Parameters) -> u64 {
    let Parameters { queue, memop, kernel, .. } = parameters;
    let write_ns = memop.write_ns + memop.write_behind_reads_ns + memop.write_beside_looks_ns;
    let events_ns = memop.event_to_wait_ns + memop.event_to_write_busy_ns + 2 * queue.bookkeeping_ns;
    let poll_ns = memop.wait_poll_ns + memop.wait_poll_spread_ns;
    queue.submit_latency_ns + 2 * queue.crossing_ns + write_ns + events_ns + poll_ns + kernel.end_to_write_ns
}

/// Bulk yields within a look of its kernel and the bytes under way, or at the end of a chunk.
fn blocking_ns(parameters: &Parameters) -> u64 {
    let copy = &parameters.copy_kernel;
    let drains = copy.h2d_drain_ns.iter().chain(&copy.d2h_drain_ns).map(|(_, ns)| *ns as u64).max();
    let kernel_ns = copy.mirror_ns + copy.look_ns + drains.unwrap_or(0);
    let chunk_ns = Profile::LIBRARY.chunk_max.0 + parameters.engine.switch_ns + parameters.memop.wait_lead_ns;
    kernel_ns.max(chunk_ns)
}
