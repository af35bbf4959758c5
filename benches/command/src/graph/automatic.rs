//! A program on arrays: its order, its copies and its streams follow from the uses.

use std::sync::Arc;

use graph::Mode;
use hal::Result;
use overtake::data::{Array, ArrayOptions, Arrays, DataStatistics, KernelArgument, discard, read, read_write, write};
use overtake::dispatch::Dispatcher;
use overtake::task::{Error, More};
use overtake_plan::dag::Program;
use workloads::Kernels;

use super::content::{self, Step};
use super::memory::launch;
use crate::piece::driver_error;

/// A program with its arrays.
pub struct Automatic<'p> {
    program: &'p Program,
    /// Those of each device.
    kernels: Arc<[Kernels]>,
    /// Dropped before their heaps.
    all: Vec<Array<u32>>,
    arrays: Arrays,
    steps: Vec<Arc<[Step]>>,
}

impl<'p> Automatic<'p> {
    /// Arrays for a program. They have no contents.
    pub fn new(
        dispatcher: &Dispatcher,
        options: ArrayOptions,
        program: &'p Program,
        kernels: &[Kernels],
    ) -> Result<Automatic<'p>> {
        let arrays = Arrays::open(dispatcher, options).map_err(driver_error)?;
        let all = program.arrays.iter().map(|array| arrays.array(&[array.bytes as usize / 4]));
        let all = all.collect::<std::result::Result<_, Error>>().map_err(driver_error)?;
        let steps = program.computations.iter().map(|computation| content::steps(program, computation).into());
        Ok(Automatic { program, kernels: kernels.into(), all, arrays, steps: steps.collect() })
    }

    /// The host writes the inputs: with their contents, or as if it did.
    pub fn fill(&self, has_contents: bool) -> Result<()> {
        for (number, array) in self.all.iter().enumerate() {
            if content::is_input(self.program, number) {
                let mut guard = array.overwrite().map_err(driver_error)?;
                if has_contents {
                    guard.copy_from_slice(&content::input(number, 4 * array.len() as u64));
                }
            }
        }
        Ok(())
    }

    /// Runs it once, to its end.
    pub fn run(&self) -> Result<()> {
        self.submit().and_then(|()| self.arrays.wait()).map_err(driver_error)
    }

    fn submit(&self) -> std::result::Result<(), Error> {
        for (computation, steps) in self.program.computations.iter().zip(&self.steps) {
            if computation.is_host {
                for argument in &computation.arguments {
                    read(&self.all[argument.array]).to_host()?;
                }
                continue;
            }
            let used = computation.arguments.iter().map(|argument| -> Box<dyn KernelArgument + '_> {
                let array = &self.all[argument.array];
                match argument.mode {
                    Mode::Read => Box::new(read(array)),
                    Mode::Discard => Box::new(discard(array)),
                    Mode::Write => Box::new(write(array)),
                    Mode::ReadWrite | Mode::Reduce | Mode::Relaxed => Box::new(read_write(array)),
                }
            });
            let (used, steps, kernels): (Vec<_>, _, _) = (used.collect(), Arc::clone(steps), Arc::clone(&self.kernels));
            let computed = self.arrays.launch(&computation.label, &used[..], move |lane, arguments| {
                let kernels = &kernels[usize::from(lane.device())];
                launch(&**lane.driver(), kernels, &steps, arguments, lane.stream())?;
                Ok(More::Done)
            });
            computed.submit()?;
        }
        Ok(())
    }

    /// The transfers so far.
    #[must_use]
    pub fn statistics(&self) -> DataStatistics {
        self.arrays.statistics()
    }

    /// The words of an array, when the program has run.
    pub fn words(&self, array: usize) -> Result<Vec<u32>> {
        self.all[array].read().map(|guard| guard.to_vec()).map_err(driver_error)
    }
}
