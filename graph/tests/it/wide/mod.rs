//! Random programs of all that a graph has, against an oracle that knows every byte, edge and failure; and batches
//! against single nodes. `graph/tests/README.md` tells how to run more of them.

mod call;
mod device;
mod launch;
mod node;
mod outcomes;
mod priorities;
mod program;
mod random;
mod setting;
mod shrinker;
mod submission;

use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};

use overtake_graph::Runner;

use call::Call;
use program::Program;
use random::Random;
use setting::Setting;

const CALLS_MAX: u32 = 65;

/// Makes the calls, and lets all that is left happen. Where no calls come inside a batch, single nodes do the same.
fn run(setting: &Setting, calls: &[Call]) {
    let [mut batches, mut singles] = [(); 2].map(|()| Program::new(setting));
    let is_compared = !setting.interferes;
    for call in calls {
        match call {
            Call::Device { most, launched, .. } if is_compared => {
                let launches = batches.batch(*most as usize, *launched as usize, &[]);
                let same: Vec<_> = (0..launches.len().max(1)).filter_map(|_| singles.step(Runner::Device)).collect();
                assert_eq!(launches, same, "the order of a batch");
            }
            call => {
                batches.act(call);
                if is_compared {
                    singles.act(call);
                }
            }
        }
        batches.settle();
        batches.check_priorities();
        if is_compared {
            singles.settle();
            assert_eq!(batches.trace(), singles.trace(), "batches and single nodes");
        }
    }
    batches.finish();
    if is_compared {
        singles.finish();
    }
}

/// Why the program fails, if it does.
fn fault(setting: &Setting, calls: &[Call]) -> Option<String> {
    let error = catch_unwind(AssertUnwindSafe(|| run(setting, calls))).err()?;
    let text = error.downcast_ref::<String>().map(String::as_str);
    Some(text.or_else(|| error.downcast_ref::<&str>().copied()).unwrap_or_default().to_owned())
}

/// The program of this number, in as few calls as it still fails with.
fn report(number: u64) -> Option<String> {
    let mut random = Random::new(number);
    let setting = Setting::random(&mut random);
    let calls = 5 + random.below(CALLS_MAX - 5);
    let calls: Vec<Call> = (0..calls).map(|_| Call::random(&mut random, &setting)).collect();
    fault(&setting, &calls)?;
    // The failures on the way to the fewest calls are not told.
    let hook = take_hook();
    set_hook(Box::new(|_| {}));
    let calls = shrinker::shrink(calls, |calls| fault(&setting, calls).is_some());
    let text = fault(&setting, &calls).unwrap_or_default();
    set_hook(hook);
    let lines: Vec<String> = calls.iter().map(|call| format!("    {call:?}")).collect();
    Some(format!("program {number}: {text}\n  {setting:?}\n{}", lines.join("\n")))
}

fn number(name: &str, or: u64) -> u64 {
    std::env::var(name).map_or(or, |text| text.parse().expect("a number"))
}

#[test]
fn any_program_ends_as_its_nodes_say() {
    let (first, programs) = (number("WIDE_FIRST", 1), number("WIDE_PROGRAMS", 3000));
    if let Some(found) = (first..first + programs).find_map(report) {
        panic!("{found}");
    }
}
