//! The lanes, waits and events of a span: computed once, and the same for each replay.

use std::ops::Range;

/// No event.
pub(crate) const NONE: u32 = u32::MAX;
/// The place of the event behind all that the span comes after. Those of steps come behind it.
pub(crate) const FORK: u32 = 0;

/// A step in its lane.
#[derive(Debug)]
pub(crate) struct Placed {
    /// The lane, from that of the task on.
    pub lane: u8,
    /// The event that is recorded behind it, or none.
    pub event: u32,
    waits: Range<u32>,
}

/// A lane, and the event behind all of its work that the lane of the task waits for at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct End {
    pub lane: u8,
    pub event: u32,
    /// It is recorded behind no step.
    pub is_recorded_last: bool,
}

/// The order of all driver calls of a replay, and the places of its events.
#[derive(Debug)]
pub(crate) struct SpanPlan {
    steps: Vec<Placed>,
    waits: Vec<u32>,
    ends: Vec<End>,
    events: u32,
    /// A step is in another lane than that of the task.
    has_others: bool,
}

/// The steps of each lane that are certain to have ended, as counts from the first on.
type Clock = Vec<u32>;

/// A lane while steps are placed.
#[derive(Clone)]
struct Open {
    last: usize,
    count: u32,
    /// The steps that its next one comes after in any case.
    clock: Clock,
}

impl SpanPlan {
    /// Places steps in so many lanes. `before` has the steps that each one comes after, which are earlier ones.
    pub fn new(before: &[Vec<u32>], lanes: u8) -> SpanPlan {
        let none = Open { last: usize::MAX, count: 0, clock: vec![0; usize::from(lanes)] };
        let mut open = vec![none; usize::from(lanes)];
        let mut clocks: Vec<Clock> = Vec::with_capacity(before.len());
        let steps = Vec::with_capacity(before.len());
        let mut plan = SpanPlan { steps, waits: Vec::new(), ends: Vec::new(), events: 1, has_others: false };
        for before in before {
            let lane = choose(&open, &clocks, &plan.steps, before);
            let (mut clock, first) = (open[lane].clock.clone(), plan.waits.len() as u32);
            // The latest first: it comes after others most often.
            let mut latest: Vec<usize> = before.iter().map(|step| *step as usize).collect();
            latest.sort_unstable();
            for step in latest.into_iter().rev() {
                let of = usize::from(plan.steps[step].lane);
                if of != lane && clock[of] < clocks[step][of] {
                    let event = plan.event_behind(step);
                    plan.waits.push(event);
                    join(&mut clock, &clocks[step]);
                }
            }
            let own = &mut open[lane];
            own.count += 1;
            clock[lane] = own.count;
            (own.last, own.clock) = (plan.steps.len(), clock.clone());
            clocks.push(clock);
            plan.has_others |= lane > 0;
            plan.steps.push(Placed { lane: lane as u8, event: NONE, waits: first..plan.waits.len() as u32 });
        }
        plan.end(&open);
        plan
    }

    /// The task ends behind its own lane, so that one waits for the others.
    fn end(&mut self, open: &[Open]) {
        let mut others: Vec<usize> = (1..open.len()).filter(|lane| open[*lane].count > 0).collect();
        others.sort_unstable_by_key(|lane| std::cmp::Reverse(open[*lane].last));
        let mut clock = open[0].clock.clone();
        for lane in others {
            if clock[lane] < open[lane].count {
                let last = open[lane].last;
                let is_recorded_last = self.steps[last].event == NONE;
                let event = self.event_behind(last);
                if is_recorded_last {
                    self.steps[last].event = NONE;
                }
                self.ends.push(End { lane: lane as u8, event, is_recorded_last });
                join(&mut clock, &open[lane].clock);
            }
        }
    }

    fn event_behind(&mut self, step: usize) -> u32 {
        let event = &mut self.steps[step].event;
        if *event == NONE {
            *event = self.events;
            self.events += 1;
        }
        *event
    }

    /// The step of this number, and the events that its lane waits for first.
    #[inline]
    pub fn step(&self, number: usize) -> Option<(&Placed, &[u32])> {
        let placed = self.steps.get(number)?;
        Some((placed, &self.waits[placed.waits.start as usize..placed.waits.end as usize]))
    }

    /// How many steps it has.
    #[inline]
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// The lanes that the first one waits for at the end.
    pub fn ends(&self) -> &[End] {
        &self.ends
    }

    /// How many events it has. Steps in one lane need none.
    pub fn events(&self) -> u32 {
        if self.has_others { self.events } else { 0 }
    }

    /// Whether a step is in another lane than that of the task.
    #[inline]
    pub fn has_others(&self) -> bool {
        self.has_others
    }
}

/// The lane of the next step: that of the first step before it that is the last of its lane; else one without steps;
/// else one whose steps all come before it; else that with the fewest.
fn choose(open: &[Open], clocks: &[Clock], steps: &[Placed], before: &[u32]) -> usize {
    let is_last = |step: &u32| open[usize::from(steps[*step as usize].lane)].last == *step as usize;
    if let Some(step) = before.iter().find(|step| is_last(step)) {
        return usize::from(steps[*step as usize].lane);
    }
    let mut known = vec![0; open.len()];
    before.iter().for_each(|step| join(&mut known, &clocks[*step as usize]));
    let order = |lane: &usize| {
        let count = open[*lane].count;
        (count > 0, known[*lane] < count, count)
    };
    (0..open.len()).min_by_key(order).unwrap_or(0)
}

fn join(clock: &mut Clock, other: &[u32]) {
    clock.iter_mut().zip(other).for_each(|(own, other)| *own = (*own).max(*other));
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The order that a device keeps: of the calls of each lane, and by waits for the records that were made by then.
    struct Device {
        /// By lane, the steps that are certain to have ended before its next work.
        behind: Vec<Vec<bool>>,
        recorded: Vec<Option<Vec<bool>>>,
    }

    impl Device {
        fn new(plan: &SpanPlan, lanes: u8) -> Device {
            let none = vec![false; plan.steps.len()];
            Device { behind: vec![none; usize::from(lanes)], recorded: vec![None; plan.events() as usize] }
        }

        fn wait(&mut self, lane: u8, event: u32) {
            let recorded = self.recorded[event as usize].clone().expect("it is recorded before it is waited for");
            let own = &mut self.behind[usize::from(lane)];
            own.iter_mut().zip(recorded).for_each(|(own, other)| *own |= other);
        }

        fn record(&mut self, lane: u8, event: u32) {
            self.recorded[event as usize] = Some(self.behind[usize::from(lane)].clone());
        }
    }

    /// Runs a plan. Returns its waits and its records.
    fn check(before: &[Vec<u32>], lanes: u8) -> [usize; 2] {
        let plan = SpanPlan::new(before, lanes);
        let (mut device, mut records) = (Device::new(&plan, lanes), 0);
        for (number, before) in before.iter().enumerate() {
            let (placed, waits) = plan.step(number).expect("it is one of the steps");
            waits.iter().for_each(|event| device.wait(placed.lane, *event));
            let behind = &mut device.behind[usize::from(placed.lane)];
            assert!(before.iter().all(|step| behind[*step as usize]), "{number} of {before:?}: {plan:?}");
            behind[number] = true;
            if placed.event != NONE {
                records += 1;
                device.record(placed.lane, placed.event);
            }
        }
        for end in plan.ends() {
            if end.is_recorded_last {
                records += 1;
                device.record(end.lane, end.event);
            }
            device.wait(0, end.event);
        }
        assert!(device.behind[0].iter().all(|it| *it), "the task ends before a step: {plan:?}");
        [plan.waits.len() + plan.ends().len(), records]
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// Each step comes after those before it, and the end after all, by lanes and events alone.
        #[test]
        fn a_plan_keeps_the_order(picks in prop::collection::vec(prop::collection::vec(any::<u16>(), 0..4), 0..40),
                                  lanes in 1_u8..9) {
            let before: Vec<Vec<u32>> = picks.iter().enumerate().map(|(number, picks)| {
                let mut before: Vec<u32> = picks.iter().filter(|_| number > 0)
                    .map(|pick| u32::from(*pick) % number as u32).collect();
                before.sort_unstable();
                before.dedup();
                before
            }).collect();
            check(&before, lanes);
        }
    }

    #[test]
    fn a_chain_has_one_lane_and_no_event() {
        let before: Vec<Vec<u32>> = (0..16_u32).map(|step| step.checked_sub(1).into_iter().collect()).collect();
        assert_eq!(check(&before, 8), [0, 0]);
        assert_eq!(SpanPlan::new(&before, 8).events(), 0, "nor one for the tasks before it");
    }

    /// Two chains that meet: one wait. Two orders that say the same: one wait too.
    #[test]
    fn an_order_that_holds_anyway_is_no_wait() {
        assert_eq!(check(&[vec![], vec![], vec![0, 1]], 8), [1, 1]);
        assert_eq!(check(&[vec![], vec![0], vec![], vec![0, 1, 2]], 8), [1, 1]);
        assert_eq!(check(&[vec![], vec![], vec![]], 2), [1, 1], "the end of the second lane");
    }
}
