//! Kernels and their arguments, which are checked before a launch.
#![allow(unsafe_code)] // a launch is unsafe; the caller's promise is passed on

use std::ffi::c_void;
use std::sync::Arc;

use bytemuck::NoUninit;
use hal::{Code, DevicePtr, Driver, Function, Launch, Module, Result, Stream};
use smallvec::SmallVec;

/// Arguments, and words of them, that need no memory of their own.
const FEW: usize = 8;

/// A kernel with the sizes of its parameters. Clones are the same.
#[derive(Clone, Debug)]
pub struct Kernel(Arc<Parts>);

#[derive(Clone, Debug)]
struct Parts {
    /// One for each device.
    functions: Vec<Function>,
    name: String,
    sizes_bytes: Vec<u64>,
    /// The address of the driver that knows the functions.
    driver: usize,
}

fn address(driver: &dyn Driver) -> usize {
    std::ptr::from_ref(driver).addr()
}

impl Kernel {
    /// Looks a kernel up in a module.
    pub fn find(driver: &dyn Driver, module: Module, name: &str) -> Result<Kernel> {
        Kernel::of(driver, driver.module_function(module, name)?, name)
    }

    /// Wraps a kernel that the caller has looked up. `name` is for errors.
    pub fn of(driver: &dyn Driver, function: Function, name: &str) -> Result<Kernel> {
        let sizes_bytes = driver.function_parameters(function)?;
        let (name, driver) = (name.to_owned(), address(driver));
        Ok(Kernel(Arc::new(Parts { functions: vec![function], name, sizes_bytes, driver })))
    }

    /// Whether it was found through this driver.
    #[doc(hidden)]
    pub fn is_of(&self, driver: &dyn Driver) -> bool {
        self.0.driver == address(driver)
    }

    /// The same kernel for the next device, from a module that was loaded in that one's context.
    pub fn and_on_next(mut self, other: &Kernel) -> Result<Kernel> {
        if other.0.sizes_bytes != self.0.sizes_bytes {
            return Err(self.refuse(format!("kernel {} of another device takes other arguments", other.name())));
        }
        Arc::make_mut(&mut self.0).functions.extend(&other.0.functions);
        Ok(self)
    }

    /// The number of devices on which it is loaded, counted from the first.
    #[must_use]
    pub fn devices(&self) -> u8 {
        self.0.functions.len().min(usize::from(u8::MAX)) as u8
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// The bytes of each of its parameters.
    #[doc(hidden)]
    pub fn sizes_bytes(&self) -> &[u64] {
        &self.0.sizes_bytes
    }

    #[inline]
    fn check(&self, arguments: &Arguments) -> Result<()> {
        let (takes, given) = (&self.0.sizes_bytes, &arguments.places);
        let is_same = |(takes, given): (&u64, &Argument)| *takes == u64::from(given.bytes);
        let fits = takes.len() == given.len() && takes.iter().zip(given).all(is_same);
        if fits { Ok(()) } else { Err(self.misfit(arguments)) }
    }

    #[cold]
    fn misfit(&self, arguments: &Arguments) -> hal::Error {
        let (takes, given) = (&self.0.sizes_bytes, &arguments.places);
        if takes.len() != given.len() {
            return self.refuse(format!("it takes {} arguments, and {} are given", takes.len(), given.len()));
        }
        let is_other = |(_, (takes, given)): &(usize, (&u64, &Argument))| **takes != u64::from(given.bytes);
        let (number, (takes, given)) =
            (1..).zip(takes.iter().zip(given)).find(is_other).expect("one of them does not fit");
        self.refuse(format!("argument {number} has {takes} bytes, and {} are given", given.bytes))
    }

    fn refuse(&self, fault: String) -> hal::Error {
        Code::INVALID_VALUE.at("overtake kernel launch").because(format!("kernel {}: {fault}", self.name()))
    }

    /// Launches it with these arguments.
    ///
    /// # Safety
    /// The kernel accesses only memory that is there until it has completed, as its arguments and its shape say.
    #[doc(hidden)]
    pub unsafe fn launch(
        &self,
        driver: &dyn Driver,
        (device, stream): (u8, Stream),
        shape: &Shape,
        arguments: &mut Arguments,
    ) -> Result<()> {
        self.check(arguments)?;
        let function = self.0.functions.get(usize::from(device)).copied();
        let function = function.ok_or_else(|| self.refuse(format!("it is not loaded on device {device}")))?;
        let parameters = arguments.parameters();
        let &Shape { grid, block, shared_bytes } = shape;
        let launch = Launch { function, grid, block, shared_bytes, stream, parameters: &parameters };
        // SAFETY: one pointer for each parameter, to as many bytes as the kernel takes (`check`); the caller vouches
        // for the memory that the kernel accesses.
        unsafe { driver.launch(&launch) }
    }
}

/// The blocks of a launch, their threads and their shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Blocks in each dimension.
    pub grid: [u32; 3],
    /// Threads of a block in each dimension.
    pub block: [u32; 3],
    /// Dynamic shared memory of a block.
    pub shared_bytes: u32,
}

impl Shape {
    /// `blocks` blocks of `threads` threads in one dimension.
    #[must_use]
    pub fn line(blocks: u32, threads: u32) -> Shape {
        Shape { grid: [blocks, 1, 1], block: [threads, 1, 1], shared_bytes: 0 }
    }
}

/// Arguments of a kernel, in its order.
///
/// ```
/// use overtake::hal::DevicePtr;
/// use overtake::task::Arguments;
///
/// let arguments = Arguments::new().address(DevicePtr(0x7000_0000)).value(&1024_u32);
/// assert_eq!(arguments.count(), 2);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Arguments {
    /// In words, so that each argument is aligned.
    words: SmallVec<[u64; FEW]>,
    places: SmallVec<[Argument; FEW]>,
}

#[derive(Clone, Copy, Debug)]
struct Argument {
    word: u32,
    bytes: u32,
}

impl Arguments {
    /// No arguments yet.
    #[must_use]
    pub fn new() -> Arguments {
        Arguments::default()
    }

    /// Adds an address.
    #[must_use]
    #[inline]
    pub fn address(mut self, address: DevicePtr) -> Arguments {
        self.push_address(address);
        self
    }

    /// Adds a value, as the kernel declares it.
    #[must_use]
    #[inline]
    pub fn value<T: NoUninit>(self, value: &T) -> Arguments {
        self.bytes(bytemuck::bytes_of(value))
    }

    /// Adds a value of a type that only the kernel knows.
    #[must_use]
    #[inline]
    pub fn bytes(mut self, bytes: &[u8]) -> Arguments {
        self.push_bytes(bytes);
        self
    }

    #[inline]
    #[doc(hidden)]
    pub fn push_address(&mut self, address: DevicePtr) {
        self.places.push(Argument { word: self.words.len() as u32, bytes: size_of::<u64>() as u32 });
        self.words.push(address.0);
    }

    #[inline]
    #[doc(hidden)]
    pub fn push_bytes(&mut self, bytes: &[u8]) {
        let word = self.words.len();
        self.places.push(Argument { word: word as u32, bytes: bytes.len() as u32 });
        self.words.resize(word + bytes.len().div_ceil(size_of::<u64>()), 0);
        bytemuck::cast_slice_mut(&mut self.words[word..])[..bytes.len()].copy_from_slice(bytes);
    }

    /// Gives an address another value, by the number of its argument.
    #[doc(hidden)]
    pub fn set_address(&mut self, number: usize, address: u64) {
        self.words[self.places[number].word as usize] = address;
    }

    /// The number of arguments.
    #[must_use]
    pub fn count(&self) -> usize {
        self.places.len()
    }

    #[inline]
    fn parameters(&mut self) -> SmallVec<[*mut c_void; FEW]> {
        let words = &mut self.words;
        self.places.iter().map(|place| words[place.word as usize..].as_mut_ptr().cast()).collect()
    }
}
