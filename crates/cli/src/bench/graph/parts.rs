//! The parts of a program, measured one by one, and the time that it would take if only they counted.

use graph::plan::{Plan, Program};
use hal::{Host, Result, Stream};

use super::super::yard::Yard;
use super::content::{self, is_input};
use super::memory::Memory;
use channels::probe::STREAM_PRIORITY_DEFAULT;

/// Repeats of a part behind the first one.
const REPEATS: u32 = 4;
/// Measurements of a part; the fastest counts.
const TRIES: u32 = 3;

/// Nanoseconds of each part.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Parts {
    /// By array.
    pub up: Vec<f64>,
    pub down: Vec<f64>,
    /// By computation.
    pub kernels: Vec<f64>,
}

impl Parts {
    /// Measures them on an idle device: the time of several in a row beyond that of one.
    pub fn measure(yard: &mut Yard, program: &Program, memory: &Memory) -> Result<Parts> {
        let stream = yard.stream(STREAM_PRIORITY_DEFAULT)?;
        let time = |part: &dyn Fn(Stream) -> Result<()>| -> Result<f64> {
            let host: &dyn Host = yard.ground.driver().host();
            let mut all = Vec::new();
            for _ in 0..TRIES {
                let mut ends = [0.0; 2];
                for (end, count) in ends.iter_mut().zip([1, 1 + REPEATS]) {
                    let start = host.now();
                    (0..count).try_for_each(|_| part(stream))?;
                    yard.ground.driver().stream_synchronize(stream)?;
                    *end = host.now().since(start).0 as f64;
                }
                all.push((ends[1] - ends[0]) / f64::from(REPEATS));
            }
            Ok(all.into_iter().fold(f64::INFINITY, f64::min).max(0.0))
        };
        let mut parts = Parts::default();
        for array in 0..program.arrays.len() {
            let is_read = content::read_by_host(program).any(|read| read == array);
            let of = |is_copied, copy: &dyn Fn(Stream) -> Result<()>| if is_copied { time(copy) } else { Ok(0.0) };
            parts.up.push(of(is_input(program, array), &|stream| memory.upload(array, stream))?);
            parts.down.push(of(is_read, &|stream| memory.download(array, stream))?);
        }
        for computation in &program.computations {
            let steps = content::steps(program, computation);
            parts.kernels.push(match computation.is_host {
                true => 0.0,
                false => time(&|stream| memory.launch(computation, &steps, stream))?,
            });
        }
        Ok(parts)
    }

    /// The time of the program: an engine makes one copy at a time, in the order of the program, a computation begins
    /// when the last array that it needs is there, and none delays another one.
    #[must_use]
    pub fn bound_ns(&self, program: &Program, plan: &Plan) -> f64 {
        let (mut up, mut down, mut last) = (0.0_f64, 0.0_f64, 0.0_f64);
        let (mut arrived, mut ended) = (vec![0.0_f64; self.up.len()], Vec::new());
        for (number, (computation, step)) in program.computations.iter().zip(&plan.steps).enumerate() {
            let before = step.parents.iter().map(|parent| ended[*parent]).fold(0.0, f64::max);
            let end = if computation.is_host {
                down = down.max(before) + step.transfers.iter().map(|moved| self.down[moved.array]).sum::<f64>();
                down
            } else {
                for moved in &step.transfers {
                    up += self.up[moved.array];
                    arrived[moved.array] = up;
                }
                let there = computation.arguments.iter().map(|argument| arrived[argument.array]).fold(before, f64::max);
                there + self.kernels[number]
            };
            ended.push(end);
            last = last.max(end);
        }
        last
    }
}

#[cfg(test)]
mod tests {
    use graph::plan::Policies;

    use super::*;

    #[test]
    fn copies_take_turns_and_kernels_do_not() {
        let program = Program::parse("(x const, a discard) (y const, b discard) !a const !b const size 8").unwrap();
        let plan = program.plan(&Policies::default(), 1).unwrap();
        let (up, down) = (vec![10.0, 0.0, 10.0, 0.0], vec![0.0, 10.0, 0.0, 10.0]);
        let parts = Parts { up, down, kernels: vec![50.0, 50.0, 0.0, 0.0] };
        // x until 10, y until 20; kernels until 60 and 70; a until 70, b until 80.
        assert_eq!(parts.bound_ns(&program, &plan), 80.0);
        let chain = Program::parse("(x const, a discard) (a const, b discard) !b const size 8").unwrap();
        let plan = chain.plan(&Policies::default(), 1).unwrap();
        let parts = Parts { up: vec![10.0, 0.0, 0.0], down: vec![0.0, 0.0, 10.0], kernels: vec![50.0, 5.0, 0.0] };
        assert_eq!(parts.bound_ns(&chain, &plan), 75.0);
    }
}
