//! The time that a program would take if its parts only held each other up as they were seen to.

use overtake_plan::dag::{Plan, Program};

use super::parts::Parts;

/// How parts of a program hold each other up, as its halves by hand show.
#[derive(Clone, Copy, Debug)]
pub struct Contention {
    /// The time of all copies by the time that they take if those of one way never slow those of the other.
    pub copies: f64,
    /// The time of all computations by their sum: 1 where the device gains nothing from several at once.
    pub computations: f64,
}

impl Contention {
    /// No part holds another one up.
    pub const NONE: Contention = Contention { copies: 1.0, computations: 0.0 };

    /// No part is faster than alone.
    #[must_use]
    pub fn new(copies: f64, computations: f64) -> Contention {
        Contention { copies: copies.max(1.0), computations: computations.min(1.0) }
    }

    /// The speed of each of so many computations that run at once.
    fn speed(self, running: usize) -> f64 {
        (1.0 / (self.computations * running as f64)).min(1.0)
    }
}

/// A program under way.
struct Run<'p> {
    program: &'p Program,
    plan: &'p Plan,
    /// By computation: when the last of its arrays is there.
    arrived: Vec<f64>,
    left: Vec<f64>,
    ended: Vec<Option<f64>>,
}

impl Run<'_> {
    /// When all that comes before a computation has ended, if it has.
    fn before(&self, number: usize) -> Option<f64> {
        let parents = &self.plan.steps[number].parents;
        parents.iter().map(|parent| self.ended[*parent]).try_fold(0.0, |last, end| Some(f64::max(last, end?)))
    }

    /// The reads of the host whose turn has come: they copy in the order of the program.
    fn read(&mut self, down: &mut f64, lengths: &[f64]) {
        for number in (0..lengths.len()).filter(|number| self.program.computations[*number].is_host) {
            if self.ended[number].is_some() {
                continue;
            }
            let Some(before) = self.before(number) else { return };
            *down = down.max(before) + lengths[number];
            self.ended[number] = Some(*down);
        }
    }

    /// The computations that have not ended, and the times from which on they run.
    fn begun(&self) -> Vec<(usize, f64)> {
        let open = (0..self.left.len()).filter(|number| self.ended[*number].is_none());
        let kernels = open.filter(|number| !self.program.computations[*number].is_host);
        kernels.filter_map(|number| Some((number, self.before(number)?.max(self.arrived[number])))).collect()
    }
}

impl Parts {
    /// The time of the program: as [`Parts::bound_ns`] tells, but that copies take longer by a factor, and that
    /// computations which run at once share the device.
    #[must_use]
    pub fn contended_ns(&self, program: &Program, plan: &Plan, contention: Contention) -> f64 {
        let (mut up, mut there) = (0.0, vec![0.0_f64; self.up.len()]);
        let (mut arrived, mut reads) = (Vec::new(), Vec::new());
        for (computation, step) in program.computations.iter().zip(&plan.steps) {
            let moved = step.transfers.iter().map(|moved| moved.array);
            if computation.is_host {
                reads.push(contention.copies * moved.map(|array| self.down[array]).sum::<f64>());
            } else {
                moved.for_each(|array| {
                    up += contention.copies * self.up[array];
                    there[array] = up;
                });
                reads.push(0.0);
            }
            arrived.push(computation.arguments.iter().map(|argument| there[argument.array]).fold(0.0, f64::max));
        }
        let ended = vec![None; reads.len()];
        let mut run = Run { program, plan, arrived, left: self.kernels.clone(), ended };
        let (mut now, mut down) = (0.0_f64, 0.0_f64);
        loop {
            run.read(&mut down, &reads);
            let begun = run.begun();
            let next = begun.iter().map(|(_, begin)| *begin).filter(|begin| *begin > now).fold(f64::INFINITY, f64::min);
            let running: Vec<usize> =
                begun.iter().filter(|(_, begin)| *begin <= now).map(|(number, _)| *number).collect();
            let speed = contention.speed(running.len().max(1));
            let least = running.iter().map(|number| run.left[*number]).fold(f64::INFINITY, f64::min);
            let step = next.min(now + least / speed);
            if step.is_infinite() {
                return run.ended.iter().flatten().copied().fold(0.0, f64::max);
            }
            for number in running {
                run.left[number] -= (step - now) * speed;
                if run.left[number] <= least * 1e-9 {
                    run.ended[number] = Some(step);
                }
            }
            now = step;
        }
    }
}

#[cfg(test)]
mod tests {
    use overtake_plan::dag::Policies;

    use super::*;

    fn two_branches(contention: Contention) -> f64 {
        let program = Program::parse("(x const, a discard) (y const, b discard) !a const !b const size 8").unwrap();
        let plan = program.plan(&Policies::default(), 1).unwrap();
        let (up, down) = (vec![10.0, 0.0, 10.0, 0.0], vec![0.0, 10.0, 0.0, 10.0]);
        let parts = Parts { up, down, kernels: vec![50.0, 50.0, 0.0, 0.0] };
        let contended = parts.contended_ns(&program, &plan, contention);
        assert!(contended >= parts.bound_ns(&program, &plan));
        contended.round()
    }

    #[test]
    fn computations_share_the_device() {
        // x until 10, y until 20. Both run from then on, at half speed each: until 100 and 110. b is read until 120.
        assert_eq!(two_branches(Contention::new(1.0, 1.0)), 120.0);
        // A tenth is gained: the first ends at 92, the second at 101 or 102.
        assert_eq!(two_branches(Contention::new(1.0, 0.9)), 112.0);
        assert_eq!(two_branches(Contention::new(1.0, 0.5)), 80.0, "the bound without contention");
    }

    #[test]
    fn copies_take_longer_both_ways() {
        assert_eq!(two_branches(Contention::new(1.1, 0.5)), 83.0, "y until 22, b until 72, and its read 11");
        assert_eq!(two_branches(Contention::new(0.9, 0.3)), 80.0, "no part is faster than alone");
    }

    #[test]
    fn a_chain_has_no_contention() {
        let chain = Program::parse("(x const, a discard) (a const, b discard) !b const size 8").unwrap();
        let plan = chain.plan(&Policies::default(), 1).unwrap();
        let parts = Parts { up: vec![10.0, 0.0, 0.0], down: vec![0.0, 0.0, 10.0], kernels: vec![50.0, 5.0, 0.0] };
        assert_eq!(parts.contended_ns(&chain, &plan, Contention::new(1.0, 1.0)), 75.0);
    }
}
