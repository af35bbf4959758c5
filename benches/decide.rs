//! The cost of decisions for the submitting thread: brackets, the alias of a priority, chunks. All of them are pure,
//! so only the CPU counts.

use std::hint::black_box;

use channels::bracket::bracket;
use channels::fold::{group_of, groups};
use channels::{Shape, chunk};
use criterion::{BenchmarkId, Criterion};
use overtake::hal::DevicePtr;
use overtake::{Priorities, Priority};
use semaphores::{EmulationKind, Layout, emulation};

/// Words at invented addresses.
struct Words(Priorities);

impl Layout for Words {
    fn priorities(&self) -> Priorities {
        self.0
    }

    fn gate_address(&self, level: Priority) -> DevicePtr {
        DevicePtr(0x1000 + 128 * u64::from(level.get()))
    }

    fn stream_address(&self, priority: Priority) -> DevicePtr {
        DevicePtr(0x4000 + 128 * u64::from(priority.get()))
    }

    fn device_address(&self, priority: Priority) -> DevicePtr {
        DevicePtr(0x8000 + 128 * u64::from(priority.get()))
    }
}

fn priorities(count: u8) -> Priorities {
    Priorities::new(count).expect("1 to 32 are valid counts")
}

/// The steps of a bulk copy of 256 MiB in chunks of 2 MiB, for each emulation and number of priorities.
fn brackets(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("bracket of 128 chunks");
    for kind in EmulationKind::ALL {
        for count in [2, 6] {
            let words = Words(priorities(count));
            let id = BenchmarkId::new(kind.name(), format!("{count} priorities"));
            group.bench_function(id, |bencher| {
                bencher.iter(|| bracket(black_box(&words), emulation(kind), Priority::LOWEST, black_box(128)));
            });
        }
    }
    group.finish();
}

/// The channel of a priority.
fn aliases(criterion: &mut Criterion) {
    let folded = groups(priorities(8), 4);
    let wide = groups(priorities(32), 32);
    let mut group = criterion.benchmark_group("alias of a priority");
    for (name, groups, priority) in [("8 on 4 queues", &folded, 8), ("32 on 32 queues", &wide, 32)] {
        let priority = Priority::new(priority).expect("not 0");
        group.bench_function(name, |bencher| bencher.iter(|| group_of(black_box(groups), black_box(priority))));
    }
    group.finish();
}

/// The cutting of a copy.
fn chunks(criterion: &mut Criterion) {
    let linear = Shape::linear(1 << 40, 1 << 30, 256 << 20);
    criterion.bench_function("256 MiB into chunks", |bencher| {
        bencher.iter(|| chunk::cut(black_box(&linear), black_box(2 << 20)));
    });
}

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    brackets(&mut criterion);
    aliases(&mut criterion);
    chunks(&mut criterion);
    criterion.final_summary();
}
