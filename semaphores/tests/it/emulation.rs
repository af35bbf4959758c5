//! The three emulations step by step, over words at known addresses.

use hal::DevicePtr;
use overtake_semaphores::{EmulationKind, Layout, Step, emulation};
use priority::{Priorities, Priority};

/// Gates begin at 100, the words of streams at 200, those of kernels at 300.
struct Words(Priorities);

impl Layout for Words {
    fn priorities(&self) -> Priorities {
        self.0
    }

    fn gate_address(&self, level: Priority) -> DevicePtr {
        DevicePtr(100 + u64::from(level.get()))
    }

    fn stream_address(&self, priority: Priority) -> DevicePtr {
        DevicePtr(200 + u64::from(priority.get()))
    }

    fn device_address(&self, priority: Priority) -> DevicePtr {
        DevicePtr(300 + u64::from(priority.get()))
    }
}

/// The steps of a copy of that priority: acquire, inc, dec.
fn steps(kind: EmulationKind, priority: u8) -> [Vec<Step>; 3] {
    let (words, priority) = (Words(Priorities::new(3).unwrap()), Priority::new(priority).unwrap());
    let emulation = emulation(kind);
    let mut steps = [const { Vec::new() }; 3];
    emulation.acquire(&words, priority, &mut steps[0]);
    emulation.inc(&words, priority, &mut steps[1]);
    emulation.dec(&words, priority, &mut steps[2]);
    steps
}

fn wait(address: u64) -> Step {
    Step::Wait(DevicePtr(address))
}

#[test]
fn hold_waits_at_one_word_and_leaves_counting_to_the_cpu() {
    assert_eq!(steps(EmulationKind::Hold, 1), [vec![wait(101)], vec![], vec![]]);
    assert_eq!(steps(EmulationKind::Hold, 2), [vec![wait(102)], vec![], vec![]]);
    assert_eq!(steps(EmulationKind::Hold, 3), [vec![], vec![], vec![]], "nothing is above the highest");
}

#[test]
fn bracket_waits_for_each_word_above_and_writes_its_own() {
    let write = |value| vec![Step::Write(DevicePtr(202), value)];
    assert_eq!(
        steps(EmulationKind::Bracket, 1),
        [vec![wait(202), wait(203)], vec![], vec![]],
        "no priority waits for the lowest"
    );
    assert_eq!(steps(EmulationKind::Bracket, 2), [vec![wait(203)], write(1), write(0)]);
    assert_eq!(steps(EmulationKind::Bracket, 3)[0], []);
}

#[test]
fn atomics_wait_for_each_word_above_and_add_to_their_own() {
    let add = |value| vec![Step::Add(DevicePtr(302), value)];
    assert_eq!(steps(EmulationKind::Atomics, 1), [vec![wait(302), wait(303)], vec![], vec![]]);
    assert_eq!(steps(EmulationKind::Atomics, 2), [vec![wait(303)], add(1), add(-1)]);
    assert_eq!(steps(EmulationKind::Atomics, 3)[0], []);
}

#[test]
fn each_kind_has_a_name_and_says_whether_the_cpu_counts() {
    let names: Vec<&str> = EmulationKind::ALL.into_iter().map(EmulationKind::name).collect();
    assert_eq!(names, ["hold", "bracket", "atomics"]);
    for kind in EmulationKind::ALL {
        assert_eq!(EmulationKind::from_name(kind.name()), Some(kind));
        assert_eq!(emulation(kind).kind(), kind);
        assert_eq!(emulation(kind).counts_on_cpu(), kind == EmulationKind::Hold);
    }
    assert_eq!(EmulationKind::from_name("patent"), None);
}
