//! A bank in memory that a device sees: the values that streams read and write there, and the state after an opening.

use std::sync::Arc;

use hal::{Device, Driver, MemOp, Stream, WaitCondition};
use overtake_semaphores::{Bank, Layout};
use priority::{Priorities, Priority};
use softgpu::SoftGpu;

fn at(priority: u8) -> Priority {
    Priority::new(priority).unwrap()
}

fn driver() -> Arc<dyn Driver> {
    let driver: Arc<dyn Driver> = Arc::new(SoftGpu::builder().build());
    let context = driver.primary_context_retain(Device(0)).unwrap();
    driver.context_set_current(Some(context)).unwrap();
    driver
}

fn bank(driver: &Arc<dyn Driver>, priorities: u8) -> Bank {
    Bank::new(driver, Priorities::new(priorities).unwrap()).unwrap()
}

/// The write that a copy makes in its stream under an emulation that streams count in.
fn write(driver: &dyn Driver, bank: &Bank, priority: Priority, value: u32) {
    driver.mem_op(Stream::PER_THREAD, MemOp::write32(bank.stream_address(priority), value)).unwrap();
    driver.stream_synchronize(Stream::PER_THREAD).unwrap();
}

/// A stream may die between the two writes of a copy, so an opening also opens the words that streams write.
#[test]
fn opening_opens_the_words_that_streams_write() {
    let driver = driver();
    let bank = bank(&driver, 3);
    for priority in [at(1), at(2), at(3)] {
        assert!(!bank.is_raised());
        write(&*driver, &bank, priority, 1);
        assert_eq!((bank.stream_word(priority), bank.is_raised()), (1, true), "priority {priority}");
        assert_eq!(bank.open_all(), 0, "no copy is counted");
        assert_eq!((bank.stream_word(priority), bank.is_raised()), (0, false), "priority {priority}");
    }
}

/// Every word has an address of its own, and the device finds it at the address that the bank gives.
#[test]
fn the_device_sees_each_word_where_the_bank_says() {
    let driver = driver();
    let bank = bank(&driver, 4);
    let raised = bank.raise(at(3));
    let words: Vec<u32> = (1..=4).map(|level| bank.gate_word(at(level))).collect();
    assert_eq!(words, [1, 1, 0, 0]);
    for level in 1..=4 {
        let expected = bank.gate_word(at(level));
        let op = MemOp::wait32(bank.gate_address(at(level)), expected, WaitCondition::Eq);
        driver.mem_op(Stream::PER_THREAD, op).unwrap();
    }
    driver.stream_synchronize(Stream::PER_THREAD).unwrap();
    bank.lower(raised);
    for priority in 1..=4 {
        write(&*driver, &bank, at(priority), u32::from(priority) + 10);
    }
    let words: Vec<u32> = (1..=4).map(|priority| bank.stream_word(at(priority))).collect();
    assert_eq!(words, [11, 12, 13, 14]);
    assert!((1..=4).all(|level| bank.gate_word(at(level)) == 0), "streams do not write to gates");
}

/// This holds for every number of priorities.
#[test]
fn every_word_has_a_line_of_its_own() {
    let driver = driver();
    let bank = bank(&driver, Priorities::MAX);
    let of = |level| [bank.gate_address(at(level)), bank.stream_address(at(level)), bank.device_address(at(level))];
    let mut addresses: Vec<u64> = (1..=Priorities::MAX).flat_map(of).map(|address| address.0).collect();
    addresses.sort_unstable();
    assert!(addresses.windows(2).all(|pair| pair[1] - pair[0] >= 128), "a cache line each: {addresses:x?}");
}

/// The return value of an opening, and the state after it: earlier counts do nothing, and later copies count.
#[test]
fn opening_forgets_pending_copies_and_counts_anew() {
    let driver = driver();
    let bank = bank(&driver, 3);
    let before = [bank.raise(at(2)), bank.raise(at(3)), bank.raise(at(3))];
    assert_eq!((bank.pending_at(at(3)), bank.pending_above(at(1)), bank.pending_above(at(2))), (2, 3, 2));
    assert_eq!(bank.open_all(), 3);
    assert!(!bank.is_raised() && before.iter().all(|pending| !bank.is_current(*pending)));
    let after = bank.raise(at(2));
    assert!(bank.is_current(after) && bank.gate_word(at(1)) == 1);
    before.into_iter().for_each(|pending| bank.lower(pending));
    assert_eq!((bank.pending_at(at(2)), bank.gate_word(at(1))), (1, 1), "late lowers are void");
    bank.lower(after);
    assert_eq!((bank.pending_above(at(1)), bank.is_raised()), (0, false));
}

/// The device sees boosts and exemptions in the words at once, and their end too.
#[test]
fn boosts_and_exemptions_are_seen_by_the_device() {
    let driver = driver();
    let bank = bank(&driver, 4);
    let _raised = bank.raise(at(3));
    let gates = || [bank.gate_word(at(1)), bank.gate_word(at(2)), bank.gate_word(at(3))];
    assert_eq!(gates(), [1, 1, 0]);
    let boosts = [bank.boost(at(1), at(3)), bank.boost(at(1), at(2))];
    assert_eq!(gates(), [0, 1, 0], "the level that is boosted passes");
    bank.unboost(boosts[0]);
    assert_eq!(gates(), [1, 1, 0], "the other boost does not reach so far");
    bank.unboost(boosts[1]);
    bank.set_exempt(at(2), true);
    assert_eq!(gates(), [1, 0, 0], "the level that is exempt passes");
    bank.set_exempt(at(2), false);
    assert_eq!(gates(), [1, 1, 0]);
}
