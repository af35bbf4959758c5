//! The meaning of a computation: launches of kernels, and the same on the processor.
//!
//! Each array that is written becomes a sum of the others. One that is written for the first time is twice the first
//! `const` array, any other one is doubled; one of eight bytes is a total of the words of the `const` arrays.
//! The label `multiply` makes it the product of the first two `const` arrays, as far as square matrices fit.

use graph::Mode;
use hal::DevicePtr;
use overtake_plan::dag::{Computation, Program};
use workloads::{Work, reference};

/// The bytes of a total.
const TOTAL_BYTES: u64 = 8;

/// Words of an argument from one on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    argument: usize,
    first: u64,
}

/// A launch, by the places of its arrays among the arguments of the computation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Adds so many words of two arrays.
    Add([Part; 3], u32),
    /// Adds so many words to a total.
    Sum([Part; 2], u32),
    /// Multiplies matrices of this side.
    Multiply([Part; 3], u32),
}

/// The launches of a computation, in their order.
#[must_use]
pub fn steps(program: &Program, computation: &Computation) -> Vec<Step> {
    let uses = &computation.arguments;
    let words = |argument: usize| program.arrays[uses[argument].array].bytes / 4;
    let is_total = |argument: usize| program.arrays[uses[argument].array].bytes == TOTAL_BYTES;
    let whole = |argument| Part { argument, first: 0 };
    let constant: Vec<usize> = (0..uses.len()).filter(|at| uses[*at].mode == Mode::Read).collect();
    let written = (0..uses.len()).filter(|at| uses[*at].mode != Mode::Read);
    let mut all = Vec::new();
    for target in written {
        let is_fresh = uses[target].mode == Mode::Discard;
        if is_total(target) {
            all.extend(constant.iter().map(|from| Step::Sum([whole(*from), whole(target)], words(*from) as u32)));
            continue;
        }
        let mut others = &constant[..];
        if let (true, [left, right, ..]) = (computation.label == "multiply", &constant[..]) {
            let side = words(*left).min(words(*right)).min(words(target)).isqrt();
            all.push(Step::Multiply([whole(*left), whole(*right), whole(target)], side as u32));
            continue;
        }
        if let (true, [first, rest @ ..]) = (is_fresh, others) {
            others = rest;
            let step = words(*first);
            for begin in (0..words(target)).step_by(step as usize) {
                let count = step.min(words(target) - begin) as u32;
                all.push(Step::Add([whole(*first), whole(*first), Part { argument: target, first: begin }], count));
            }
        } else {
            all.push(Step::Add([whole(target); 3], words(target) as u32));
        }
        all.extend(others.iter().map(|other| {
            let count = words(*other).min(words(target)) as u32;
            Step::Add([whole(target), whole(*other), whole(target)], count)
        }));
    }
    all
}

impl Step {
    /// The launch with these arguments.
    #[must_use]
    pub fn work(&self, arguments: &[DevicePtr]) -> Work {
        let at = |part: Part| arguments[part.argument].offset(4 * part.first);
        match *self {
            Step::Add([left, right, sum], count) => Work::Add { left: at(left), right: at(right), sum: at(sum), count },
            Step::Sum([values, total], count) => Work::Sum { values: at(values), total: at(total), count },
            Step::Multiply([left, right, product], side) => {
                Work::Multiply { left: at(left), right: at(right), product: at(product), side }
            }
        }
    }

    /// The same on the processor, with the arrays of the computation's arguments.
    fn apply(&self, arrays: &mut [Vec<u32>], arguments: &[usize]) {
        let floats = |arrays: &[Vec<u32>], part: Part, count: usize| -> Vec<f32> {
            let from = &arrays[arguments[part.argument]][part.first as usize..][..count];
            from.iter().copied().map(f32::from_bits).collect()
        };
        let (target, result) = match *self {
            Step::Sum([values, total], count) => {
                let sum = reference::sum(&arrays[arguments[values.argument]][..count as usize]);
                let total = &mut arrays[arguments[total.argument]];
                let now = (u64::from(total[0]) | u64::from(total[1]) << 32).wrapping_add(sum);
                (total[0], total[1]) = (now as u32, (now >> 32) as u32);
                return;
            }
            Step::Add([left, right, sum], count) => {
                let mut result = vec![0.0; count as usize];
                let (left, right) = (floats(arrays, left, result.len()), floats(arrays, right, result.len()));
                reference::add(&left, &right, &mut result);
                (sum, result)
            }
            Step::Multiply([left, right, product], side) => {
                let mut result = vec![0.0; side as usize * side as usize];
                let (left, right) = (floats(arrays, left, result.len()), floats(arrays, right, result.len()));
                reference::multiply(&left, &right, &mut result, side);
                (product, result)
            }
        };
        let target = &mut arrays[arguments[target.argument]][target.first as usize..];
        target.iter_mut().zip(result).for_each(|(word, float)| *word = float.to_bits());
    }
}

/// Whether the host writes an array before the program runs: the first use of it needs its bytes.
#[must_use]
pub fn is_input(program: &Program, array: usize) -> bool {
    let mut uses = program.computations.iter().flat_map(|computation| &computation.arguments);
    uses.find(|argument| argument.array == array).is_some_and(|first| first.mode != Mode::Discard)
}

/// The words of an array that the host writes: small numbers. A total that does not come to the device is seen.
#[must_use]
pub fn input(array: usize, bytes: u64) -> Vec<u32> {
    if bytes == TOTAL_BYTES {
        return vec![1 + array as u32, 0];
    }
    (0..bytes / 4).map(|word| (((7 * word + 13 * array as u64) % 17) as f32 / 16.0).to_bits()).collect()
}

/// The arrays after the program.
#[must_use]
pub fn results(program: &Program) -> Vec<Vec<u32>> {
    let start = |(array, its): (usize, &overtake_plan::dag::Array)| match is_input(program, array) {
        true => input(array, its.bytes),
        false => vec![0; its.bytes as usize / 4],
    };
    let mut arrays: Vec<Vec<u32>> = program.arrays.iter().enumerate().map(start).collect();
    for computation in program.computations.iter().filter(|computation| !computation.is_host) {
        let arguments: Vec<usize> = computation.arguments.iter().map(|argument| argument.array).collect();
        steps(program, computation).iter().for_each(|step| step.apply(&mut arrays, &arguments));
    }
    arrays
}

/// Whether words are the same. Numbers that are none have many forms, and processor and device choose different ones.
#[must_use]
pub fn are_same(own: &[u32], other: &[u32]) -> bool {
    let is_same =
        |(own, other): (&u32, &u32)| own == other || [own, other].iter().all(|it| f32::from_bits(**it).is_nan());
    own.len() == other.len() && own.iter().zip(other).all(is_same)
}

/// The arrays that the host reads.
pub fn read_by_host(program: &Program) -> impl Iterator<Item = usize> {
    let accesses = program.computations.iter().filter(|computation| computation.is_host);
    accesses.flat_map(|access| access.arguments.iter().map(|argument| argument.array))
}
