//! Bandwidths and selections of devices: the vectors of GrCUDA's tests, and the errors.

use overtake_graph::{
    Bandwidth, Choice, Location, Locations, Mode, Parent, Parents, Selection, Selector, Unplaced, Use,
};

const HOST: Location = Location::Host;
const SMALL: &str = "From,To,Bandwidth\n-1,0,10\n-1,1,20\n0,0,30\n0,1,40\n1,0,50\n1,1,60\n";

fn on(device: u8) -> Location {
    Location::Device(device)
}

fn small() -> Bandwidth {
    Bandwidth::read(SMALL, 2).unwrap()
}

#[test]
fn bandwidths_are_averaged_over_both_directions() {
    let all = [on(0), on(1), HOST];
    let rows = all.map(|one| all.map(|other| small().between(one, other).unwrap()));
    assert_eq!(rows, [[30.0, 45.0, 10.0], [45.0, 60.0, 20.0], [10.0, 20.0, 0.0]]);
    let floored = Bandwidth::read("From,To,GB/s\n\n 0, -1, 11.97\n", 1).unwrap();
    assert_eq!(floored.between(HOST, on(0)), Some(11.0));
    assert_eq!(Bandwidth::read(SMALL, 1).unwrap().between(on(0), HOST), Some(10.0), "device 1 is left out");
}

/// It is not averaged with the 0 of the way that is missing, which GrCUDA does.
#[test]
fn a_link_that_is_given_one_way_is_as_fast_the_other_way() {
    let text = "From,To,Bandwidth\n-1,0,10\n1,-1,10\n-1,2,10\n0,1,30\n0,2,20\n2,0,20\n1,2,20\n";
    let known = Bandwidth::read(text, 3).unwrap();
    let ways = [(on(0), on(1)), (on(1), on(0)), (HOST, on(1)), (on(1), HOST)];
    assert_eq!(ways.map(|(from, to)| known.between(from, to)), [30.0, 30.0, 10.0, 10.0].map(Some));
    for is_grcuda in [false, true] {
        let mut soonest = Selector::new(Selection::MinMinTransferTime, 3);
        (soonest.bandwidth, soonest.is_grcuda) = (Some(known.clone()), is_grcuda);
        let uses = [bytes_on(1000, 0), bytes_on(200, 1), bytes_on(200, 2)];
        assert_eq!(soonest.select(&uses, &[1, 2], &[0; 3]), Ok(1), "1000 bytes by the faster link");
    }
}

#[test]
fn bytes_come_from_the_nearest_or_the_farthest_memory() {
    let others = Locations::only(on(1)).and(HOST);
    assert_eq!(small().best(on(0), others), Some((45.0, on(1))));
    assert_eq!(small().worst(on(0), others), Some(10.0));
    let all = others.and(on(0));
    assert_eq!(small().best(on(0), all), Some((f64::INFINITY, on(0))));
    assert_eq!(small().worst(on(0), all), Some(f64::INFINITY));
    assert_eq!((small().best(on(0), Locations::NONE), small().worst(on(0), Locations::NONE)), (None, None));
    assert_eq!((small().best(on(9), others), small().worst(on(9), others)), (None, None));
    assert_eq!(small().between(on(2), HOST), None);
    let equal = Bandwidth::read("From,To,Bandwidth\n-1,0,10\n-1,1,10\n0,0,30\n0,1,10\n1,1,60\n", 2).unwrap();
    assert_eq!(equal.best(on(0), others), Some((10.0, HOST)), "of equal ones from the first");
}

/// Two small copies take longer than one that is larger, as far as latencies are known. GrCUDA has none.
#[test]
fn each_copy_has_its_latency() {
    let text = "From,To,Bandwidth,Latency\n-1,0,50,8\n0,-1,50,10\n-1,1,50,8\n0,1,400,12\n";
    let known = Bandwidth::read(text, 2).unwrap();
    let of = |to, at| known.latency_us(to, at);
    assert_eq!(of(on(0), Locations::only(HOST)), 9.0, "that of both directions");
    assert_eq!(of(on(0), Locations::only(on(1)).and(HOST)), 9.0, "the shortest");
    assert_eq!((of(on(0), Locations::only(on(1))), of(on(0), Locations::only(on(0)).and(HOST))), (12.0, 0.0));
    assert_eq!(small().latency_us(on(0), Locations::only(HOST)), 0.0, "it is not known");
    let uses = [bytes_on(400_000, 0), bytes_on(400_000, 0), bytes_on(1_200_000, 1)];
    for selection in [Selection::MinMinTransferTime, Selection::MinMaxTransferTime] {
        let mut least = Selector::new(selection, 2);
        least.bandwidth = Some(known.clone());
        assert_eq!(least.select(&uses, &[0, 1], &[0; 2]), Ok(0), "{selection:?}: 15 us, and 26");
        least.is_grcuda = true;
        assert_eq!(least.select(&uses, &[0, 1], &[0; 2]), Ok(1), "{selection:?}: 3 us, and 2");
    }
}

/// Bytes beside each other in the same memories are one copy, those of another stretch another one.
#[test]
fn neighbours_are_one_copy() {
    let (mut uses, both) = (Vec::new(), Locations::only(on(0)).and(HOST));
    for (bytes, at) in [(10, both), (20, both), (30, Locations::only(HOST)), (40, both)] {
        Mode::Read.on(bytes, at).add(&mut uses, 0);
    }
    let first = uses.len();
    [1, 2].into_iter().for_each(|bytes| Mode::Read.on(bytes, both).add(&mut uses, first));
    assert_eq!(uses.iter().map(|one| one.bytes).collect::<Vec<_>>(), [30, 30, 40, 3]);
}

fn bytes_on(bytes: u64, device: u8) -> Use {
    Mode::Read.on(bytes, Locations::only(on(device)))
}

#[test]
fn memories_come_and_go_one_by_one() {
    let both = Locations::only(HOST).and(on(1));
    assert_eq!((both.without(on(1)), both.without(HOST)), (Locations::only(HOST), Locations::only(on(1))));
    assert_eq!(both.without(on(0)), both, "it was not there");
    assert_eq!(both.without(HOST).without(on(1)), Locations::NONE);
    let are_on_device =
        [Locations::NONE, Locations::only(HOST), Locations::only(on(0)), both].map(Locations::is_on_device);
    assert_eq!(are_on_device, [false, false, true, true]);
}

#[test]
fn a_file_that_makes_no_sense_is_told_with_line_and_cure() {
    let fault = |text: &str, devices| Bandwidth::read(text, devices).unwrap_err();
    for line in ["0,1", "0,1,x", "0,x,1", "-2,0,1", "0,1,-1", "0,1,inf", "0,1,2,x", "0,1,2,-3", "0,1,2,3,4"] {
        let (number, message) = fault(&format!("{SMALL}{line}\n"), 2);
        assert!(number == 8 && message.contains("write From,To,Bandwidth"), "{line}: {number}: {message}");
    }
    let (number, message) = fault(SMALL, 3);
    assert!(number == 7 && message.starts_with("there is no bandwidth between host and 2"), "{number}: {message}");
}

#[test]
fn turns_go_on_through_parts_of_the_devices() {
    let mut turns = Selector::new(Selection::RoundRobin, 4);
    let all = [0, 1, 2, 3];
    let parts: [&[u8]; 14] =
        [&all, &all, &all, &all, &all, &[0], &all, &[3], &all, &[1, 3], &[1, 2], &[0, 1], &all[..3], &all[..3]];
    let chosen = parts.map(|among| turns.select(&[], among, &[0; 4]).unwrap());
    assert_eq!(chosen, [0, 1, 2, 3, 0, 0, 2, 3, 0, 3, 1, 1, 0, 1]);
}

#[test]
fn the_least_busy_device_is_the_first_of_equals() {
    let mut least = Selector::new(Selection::StreamAware, 4);
    assert_eq!(least.select(&[], &[0, 1, 2, 3], &[1, 2, 0, 0]), Ok(2));
    assert_eq!(least.select(&[], &[0, 1], &[1, 2, 0, 0]), Ok(0));
    assert_eq!(least.select(&[], &[], &[]), Err(Unplaced::NoDevice));
}

fn bytes(bytes: u64, at: Locations) -> Use {
    Mode::Read.on(bytes, at)
}

/// GR-32: more than the threshold, and not as much.
#[test]
fn a_device_needs_more_than_the_threshold() {
    let mut most = Selector::new(Selection::MinTransferSize, 4);
    let nine_in_ten = |part| [bytes(part, Locations::only(on(3))), bytes(100 - part, Locations::only(HOST))];
    assert_eq!(most.select(&nine_in_ten(11), &[0, 1, 2, 3], &[0; 4]), Ok(3));
    assert_eq!(most.select(&nine_in_ten(10), &[0, 1, 2, 3], &[0; 4]), Ok(0), "in turn");
    assert_eq!(most.select(&nine_in_ten(11), &[1, 2], &[0; 4]), Ok(2), "in turn");
    let equal = [bytes(1, Locations::only(on(1))), bytes(1, Locations::only(on(2)))];
    assert_eq!(most.select(&equal, &[0, 1, 2, 3], &[0, 2, 1, 0]), Ok(2), "the less loaded one");
    most.is_grcuda = true;
    assert_eq!(most.select(&equal, &[0, 1, 2, 3], &[0, 2, 1, 0]), Ok(1), "the first");
    assert_eq!(most.select(&[], &[0, 1, 2, 3], &[0; 4]), Ok(2), "no bytes: in turn");
}

/// Of equals the one that has the bytes that are changed, however loaded it is; bytes that need not come do not count.
#[test]
fn bytes_that_are_changed_stay_and_those_of_no_use_do_not_count() {
    let of = |mode: Mode, device| mode.on(10, Locations::only(on(device)));
    for selection in [Selection::MinTransferSize, Selection::MinMinTransferTime, Selection::MinMaxTransferTime] {
        let mut most = Selector::new(selection, 2);
        most.bandwidth = Some(small());
        for written in [Mode::Write, Mode::ReadWrite] {
            for home in [0, 1] {
                let (mut load, uses) = ([0; 2], [of(Mode::Read, 1 - home), of(written, home)]);
                load[usize::from(home)] = 9;
                assert_eq!(most.select(&uses, &[0, 1], &load), Ok(home), "{selection:?}, {written:?}");
            }
        }
        let stale = [of(Mode::Discard, 1)];
        assert_eq!(most.select(&stale, &[0, 1], &[0; 2]), Ok(0), "{selection:?}: in turn, the first");
        assert_eq!(most.select(&[of(Mode::Read, 0), stale[0], stale[0]], &[0, 1], &[0; 2]), Ok(0), "{selection:?}");
        most.is_grcuda = true;
        assert_eq!(most.select(&stale, &[0, 1], &[0; 2]), Ok(1), "{selection:?}: GrCUDA's");
        let uses = [of(Mode::Read, 0), of(Mode::Write, 1)];
        assert_eq!(most.select(&uses, &[0, 1], &[0; 2]), Ok(0), "{selection:?}: GrCUDA takes the first");
    }
}

/// GR-33: 60 bytes from device 1 or the host, and 40 on device 0 and 50 on device 1.
#[test]
fn transfer_times_choose_among_devices_with_enough() {
    let uses = |far: u64| {
        let either = Locations::only(HOST).and(on(1));
        [bytes(far, either), bytes(40, Locations::only(on(0))), bytes(50, Locations::only(on(1)))]
    };
    let select = |selection, uses: &[Use]| {
        let mut time = Selector::new(selection, 2);
        time.bandwidth = Some(small());
        time.select(uses, &[0, 1], &[0, 0])
    };
    assert_eq!(select(Selection::MinMinTransferTime, &uses(60)), Ok(1));
    let on_first = [bytes(40, Locations::only(on(0))), bytes(10, Locations::only(on(1)).and(HOST))];
    assert_eq!(select(Selection::MinMinTransferTime, &on_first), Ok(0), "10 at 45, not 40 at 45");
    assert_eq!(select(Selection::MinMaxTransferTime, &on_first), Ok(1), "10 at 10 is not sooner than 40 at 45");
    let at_host = [bytes(40, Locations::only(HOST))];
    assert_eq!(select(Selection::MinMinTransferTime, &at_host), Ok(0), "in turn");
    for selection in [Selection::MinMinTransferTime, Selection::MinMaxTransferTime] {
        assert_eq!(select(selection, &[bytes(1, Locations::NONE)]), Err(Unplaced::Nowhere));
    }
    assert!(Unplaced::Nowhere.to_string().contains("write them first"));
}

#[test]
fn a_stream_is_chosen_by_its_policy() {
    let parent = |device, is_taken| Parent { device, is_taken };
    let parents = [parent(2, true), parent(1, false), parent(0, false), parent(1, false)];
    let choose = |policy: Parents, parents: &[Parent]| {
        policy.choose(parents, &mut |among| Ok(among.map_or(0, |among| *among.last().unwrap()))).unwrap()
    };
    assert_eq!(choose(Parents::Same, &parents), Choice::Behind(0));
    assert_eq!(choose(Parents::Disjoint, &parents), Choice::Behind(1));
    assert_eq!(choose(Parents::EarlyDisjoint, &parents), Choice::Behind(2));
    assert_eq!(choose(Parents::MultiDisjoint, &parents), Choice::Behind(1), "among 0 and 1, in order");
    for (_, policy) in Parents::ALL {
        assert_eq!(choose(policy, &[]), Choice::Other(0));
    }
    for policy in [Parents::Disjoint, Parents::EarlyDisjoint, Parents::MultiDisjoint] {
        assert_eq!(choose(policy, &parents[..1]), Choice::Other(0));
    }
}
