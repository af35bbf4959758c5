//! Opens everything that a program needs, by one call.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use contexts::CudaContext;
use copies::{Options, Overtake};
use hal::{Code, Device, Driver};
use overtake_tasks::dispatch::{DispatchOptions, Dispatcher};
use overtake_tasks::task::{Error, Order, Tasks};

use crate::{ArrayOptions, Arrays};

/// The devices of a [`Context`], and the parameters of its parts.
#[derive(Clone, Debug)]
pub struct ContextOptions {
    /// By CUDA's numbers. Tasks are for the first, unless they name another.
    pub devices: Vec<Device>,
    /// Those of the copies, of all devices.
    pub copies: Options,
    /// Those of the dispatcher.
    pub dispatch: DispatchOptions,
    /// Those of the arrays.
    pub arrays: ArrayOptions,
}

impl Default for ContextOptions {
    /// The first device, and each option at its default.
    fn default() -> ContextOptions {
        let (copies, dispatch, arrays) = (Options::default(), DispatchOptions::default(), ArrayOptions::default());
        ContextOptions { devices: vec![Device(0)], copies, dispatch, arrays }
    }
}

impl ContextOptions {
    /// The same, with the options of copies that the program's user has chosen ([`Options::from_environment`]).
    pub fn from_environment() -> Result<ContextOptions, Error> {
        let wrong = |fault: &dyn fmt::Display| Code::INVALID_VALUE.at("overtake options").because(fault.to_string());
        let copies = Options::from_environment().map_err(|fault| wrong(&fault))?;
        Ok(ContextOptions { copies, ..ContextOptions::default() })
    }
}

/// Prioritised copies, a dispatcher, a set of tasks and a set of arrays, on one device or several. All parts are at
/// hand; a program that needs others beside them opens those itself.
///
/// Dropping it ends the parts, each as it ends on its own: the arrays too, with their results in memory that was
/// adopted, where clones of [`Arrays`] live. Handles and arrays may stay; they do nothing then.
pub struct Context {
    /// The end of the arrays has been told.
    has_finished: bool,
    // In the order of their ends.
    arrays: Arrays,
    tasks: Tasks,
    dispatcher: Dispatcher,
    layers: Vec<Arc<Overtake>>,
    driver: Arc<dyn Driver>,
}

impl Context {
    /// Opens the first device of the machine, with [`ContextOptions::from_environment`]. Its primary context is current
    /// on this thread then, as for CUDA's runtime.
    pub fn open() -> Result<Context, Error> {
        let driver: Arc<dyn Driver> = driver::CudaDriver::get()?;
        Context::open_on(&driver, ContextOptions::from_environment()?)
    }

    /// The same on this driver, which may be the software GPU, with these options.
    ///
    /// ```
    /// use overtake::{Context, ContextOptions, data::read};
    /// # use std::sync::Arc;
    ///
    /// # fn main() -> Result<(), overtake::task::Error> {
    /// # let driver: Arc<dyn overtake::hal::Driver> = Arc::new(softgpu::SoftGpu::builder().build());
    /// let context = Context::open_on(&driver, ContextOptions::default())?;
    /// let numbers = context.arrays().array_of(&[1, 2, 3])?;
    /// let sum = |(numbers,): (&[i32],)| match numbers.iter().sum() {
    ///     6 => Ok(()),
    ///     other => Err(format!("the sum is {other}").into()),
    /// };
    /// let sum = context.arrays().host("sum", (read(&numbers),), sum).submit()?;
    /// context.tasks().host("then", || Ok(())).after(&sum).submit()?.wait()?;
    /// context.finish()
    /// # }
    /// ```
    pub fn open_on(driver: &Arc<dyn Driver>, options: ContextOptions) -> Result<Context, Error> {
        let ContextOptions { devices, copies, dispatch, arrays } = options;
        if dispatch.order == Order::Ranked {
            let text =
                "a context has no order of ranks: open the dispatcher by `Dispatcher::open_ranked`, with its policy";
            return Err(refused(text.to_owned()));
        }
        let mut layers = Vec::new();
        let mut seen = BTreeSet::new();
        for device in devices {
            if !seen.insert(device.0) {
                return Err(refused(format!("device {} is named twice: name each once", device.0)));
            }
            refuse_absent(&**driver, device)?;
            layers.push(Arc::new(match layers.is_empty() {
                true => Overtake::open(driver, device, copies.clone())?,
                false => Overtake::open_in(&CudaContext::primary(driver, device)?, copies.clone())?,
            }));
        }
        if layers.is_empty() {
            return Err(refused("it has no device: name one in ContextOptions::devices".to_owned()));
        }
        let dispatcher = Dispatcher::open_on(&layers, dispatch)?;
        let (tasks, arrays) = (Tasks::new(&dispatcher), Arrays::open(&dispatcher, arrays)?);
        Ok(Context { has_finished: false, arrays, tasks, dispatcher, layers, driver: Arc::clone(driver) })
    }

    /// The driver.
    #[must_use]
    pub fn driver(&self) -> &Arc<dyn Driver> {
        &self.driver
    }

    /// The copies of the first device.
    #[must_use]
    pub fn overtake(&self) -> &Arc<Overtake> {
        &self.layers[0]
    }

    /// Those of each device.
    #[must_use]
    pub fn layers(&self) -> &[Arc<Overtake>] {
        &self.layers
    }

    /// The dispatcher.
    #[must_use]
    pub fn dispatcher(&self) -> &Dispatcher {
        &self.dispatcher
    }

    /// A set of tasks.
    #[must_use]
    pub fn tasks(&self) -> &Tasks {
        &self.tasks
    }

    /// A set of arrays.
    #[must_use]
    pub fn arrays(&self) -> &Arrays {
        &self.arrays
    }

    /// Ends the arrays, with their results in memory that was adopted, and returns their first error
    /// ([`Arrays::finish`]); then all other parts end. Not in the function of a task.
    pub fn finish(mut self) -> Result<(), Error> {
        self.has_finished = true;
        self.arrays.end()
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        if !self.has_finished {
            // Clones may live, and the dispatcher does not.
            self.arrays.end_and_log();
        }
    }
}

/// Names the devices that are there: the driver's own error has no number.
fn refuse_absent(driver: &dyn Driver, device: Device) -> Result<(), Error> {
    let count = driver.device_count()?;
    if (0..count).contains(&device.0) {
        return Ok(());
    }
    let Device(number) = device;
    Err(refused(match count {
        0 => "there is no device: CUDA_VISIBLE_DEVICES may hide it, and a container needs it (docker run --gpus all)"
            .to_owned(),
        _ => format!(
            "there is no device {number}: they count from 0 to {}; CUDA_VISIBLE_DEVICES may hide some",
            count - 1
        ),
    }))
}

fn refused(cure: String) -> Error {
    Code::INVALID_DEVICE.at("overtake context").because(cure).into()
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context").field("devices", &self.layers.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use overtake_memory::buffer::PinnedBuffer;
    use overtake_tasks::task::More;

    use super::*;
    use crate::{discard, read};

    fn soft(devices: usize) -> Arc<dyn Driver> {
        Arc::new(softgpu::SoftGpu::builder().devices(devices).build())
    }

    #[test]
    fn one_call_opens_all_parts() {
        let options = ContextOptions { devices: vec![Device(1), Device(0)], ..ContextOptions::default() };
        let context = Context::open_on(&soft(2), options).unwrap();
        assert_eq!(context.layers().len(), 2);
        assert!(Arc::ptr_eq(context.overtake(), &context.layers()[0]));
        let word = context.arrays().array::<u32>(&[1]).unwrap();
        let clear = context.arrays().launch("clear", (discard(&word),), |lane, at| {
            lane.driver().memset_d8_async(at[0], 1, 4, lane.stream())?;
            Ok(More::Done)
        });
        let clear = clear.on(1).submit().unwrap();
        let task = context.tasks().host("task", || Err("it fails alone".into())).after(&clear).submit().unwrap();
        assert!(task.wait().is_err());
        let look = |(word,): (&[u32],)| if word[0] == 0x0101_0101 { Ok(()) } else { Err("other bytes".into()) };
        context.arrays().host("look", (read(&word),), look).submit().unwrap().wait().unwrap();
        assert_eq!((context.dispatcher().graph_statistics().nodes, context.driver().device_count().unwrap()), (0, 2));
        context.finish().unwrap();
    }

    /// Its end is that of its arrays, also where another part of the program has them.
    #[test]
    fn results_are_there_at_its_end_while_clones_of_its_arrays_live() {
        for finishes in [false, true] {
            let context = Context::open_on(&soft(1), ContextOptions::default()).unwrap();
            let arrays = context.arrays().clone();
            let buffer = PinnedBuffer::<u32>::new(context.overtake(), 8).unwrap();
            let word = arrays.adopt(buffer).unwrap();
            let fill = arrays.launch("fill", (discard(&word),), |lane, at| {
                lane.driver().memset_d8_async(at[0], 1, 32, lane.stream())?;
                Ok(More::Done)
            });
            fill.submit().unwrap();
            if finishes {
                context.finish().unwrap();
            } else {
                drop(context);
            }
            let refused = arrays.launch("late", (read(&word),), |_, _| Ok(More::Done)).submit();
            assert!(matches!(refused, Err(Error::Closed { .. })), "{refused:?}");
            let memory = word.release().unwrap().expect("it was adopted");
            assert_eq!(memory[..], [0x0101_0101; 8]);
            arrays.finish().unwrap();
        }
    }

    #[test]
    fn errors_name_the_cure() {
        let said = |devices: Vec<Device>| {
            let options = ContextOptions { devices, ..ContextOptions::default() };
            Context::open_on(&soft(2), options).unwrap_err().to_string()
        };
        assert!(said(vec![]).contains("name one in ContextOptions::devices"), "{}", said(vec![]));
        assert!(said(vec![Device(1), Device(1)]).contains("device 1 is named twice"), "{}", said(vec![Device(1); 2]));
        let dispatch = DispatchOptions { order: Order::Ranked, ..DispatchOptions::default() };
        let ranked = Context::open_on(&soft(1), ContextOptions { dispatch, ..ContextOptions::default() });
        assert!(ranked.unwrap_err().to_string().contains("open_ranked`, with its policy"));
        for number in [2, -1] {
            let said = said(vec![Device(0), Device(number)]);
            assert!(said.contains(&format!("no device {number}: they count from 0 to 1")), "{said}");
        }
    }
}
