//! Kernels and their arguments, compared before a launch.
#![allow(unsafe_code)] // a launch is unsafe; the caller's promise is passed on

use std::ffi::c_void;

use bytemuck::NoUninit;
use hal::{Code, DevicePtr, Driver, Function, Launch, Module, Result, Stream};

/// A kernel with the sizes of its parameters.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// One for each device.
    functions: Vec<Function>,
    name: String,
    sizes_bytes: Vec<u64>,
}

impl Kernel {
    /// Looks a kernel up in a module.
    pub fn find(driver: &dyn Driver, module: Module, name: &str) -> Result<Kernel> {
        Kernel::of(driver, driver.module_function(module, name)?, name)
    }

    /// A kernel that the caller has looked up. `name` is for errors.
    pub fn of(driver: &dyn Driver, function: Function, name: &str) -> Result<Kernel> {
        let sizes_bytes = driver.function_parameters(function)?;
        Ok(Kernel { functions: vec![function], name: name.to_owned(), sizes_bytes })
    }

    /// The same kernel for the next device, from a module that was loaded in that one's context.
    pub fn and_on_next(mut self, other: &Kernel) -> Result<Kernel> {
        if other.sizes_bytes != self.sizes_bytes {
            return Err(self.refuse(format!("kernel {} of another device takes other arguments", other.name)));
        }
        self.functions.extend(&other.functions);
        Ok(self)
    }

    /// The number of devices that it is loaded on, from the first on.
    #[must_use]
    pub fn devices(&self) -> u8 {
        self.functions.len().min(usize::from(u8::MAX)) as u8
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    fn check(&self, arguments: &Arguments) -> Result<()> {
        let (takes, given) = (self.sizes_bytes.len(), arguments.places.len());
        if takes != given {
            return Err(self.refuse(format!("it takes {takes} arguments, and {given} are given")));
        }
        for (number, (takes, place)) in self.sizes_bytes.iter().zip(&arguments.places).enumerate() {
            if *takes != place.bytes as u64 {
                let given = place.bytes;
                return Err(self.refuse(format!("argument {} has {takes} bytes, and {given} are given", number + 1)));
            }
        }
        Ok(())
    }

    fn refuse(&self, fault: String) -> hal::Error {
        Code::INVALID_VALUE.at("overtake kernel launch").because(format!("kernel {}: {fault}", self.name))
    }

    /// Launches it with these arguments.
    ///
    /// # Safety
    /// The kernel accesses only memory that is there until it has completed, as its arguments and its shape say.
    pub(crate) unsafe fn launch(
        &self,
        driver: &dyn Driver,
        (device, stream): (u8, Stream),
        shape: &Shape,
        arguments: &mut Arguments,
    ) -> Result<()> {
        self.check(arguments)?;
        let function = self.functions.get(usize::from(device)).copied();
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
    words: Vec<u64>,
    places: Vec<Argument>,
}

#[derive(Clone, Copy, Debug)]
struct Argument {
    word: usize,
    bytes: usize,
}

impl Arguments {
    /// None yet.
    #[must_use]
    pub fn new() -> Arguments {
        Arguments::default()
    }

    /// Adds an address.
    #[must_use]
    pub fn address(self, address: DevicePtr) -> Arguments {
        self.value(&address.0)
    }

    /// Adds a value, as the kernel declares it.
    #[must_use]
    pub fn value<T: NoUninit>(self, value: &T) -> Arguments {
        self.bytes(bytemuck::bytes_of(value))
    }

    /// Adds a value of a type that is known to the kernel only.
    #[must_use]
    pub fn bytes(mut self, bytes: &[u8]) -> Arguments {
        let word = self.words.len();
        self.places.push(Argument { word, bytes: bytes.len() });
        self.words.resize(word + bytes.len().div_ceil(8), 0);
        bytemuck::cast_slice_mut(&mut self.words[word..])[..bytes.len()].copy_from_slice(bytes);
        self
    }

    /// Adds those of another list.
    #[must_use]
    pub(crate) fn and(mut self, other: &Arguments) -> Arguments {
        let words = self.words.len();
        self.words.extend(&other.words);
        self.places.extend(other.places.iter().map(|place| Argument { word: words + place.word, ..*place }));
        self
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.places.len()
    }

    fn parameters(&mut self) -> Vec<*mut c_void> {
        let words = &mut self.words;
        self.places.iter().map(|place| words[place.word..].as_mut_ptr().cast()).collect()
    }
}
