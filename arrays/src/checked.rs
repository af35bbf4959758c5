//! Kernels whose launches are safe, because it has been promised once what each of them accesses.
#![allow(unsafe_code)] // the promise is made once, and each launch is compared with it

use std::fmt;
use std::sync::Arc;

use bytemuck::Pod;
use hal::Code;
use overtake_tasks::task::{Error, Kernel, Shape};

use crate::arguments::{KernelArgument, KernelArguments};
use crate::arrays::Arrays;
use crate::computation::Computation;
use crate::right::{Reads, Writes};
use crate::uses::Use;

/// A parameter of a [`CheckedKernel`]: [`Reads`] or [`Writes`] of elements, or a number.
pub trait Parameter: 'static {
    /// The argument of a launch.
    type Given<'a>: KernelArgument;
    /// What the check gets: the number of elements of a use, or the number itself.
    type Seen;
    /// The bytes of the kernel's parameter.
    #[doc(hidden)]
    const BYTES: u64;

    #[doc(hidden)]
    fn seen(given: &Self::Given<'_>) -> Self::Seen;
}

impl<T: Pod> Parameter for Reads<T> {
    type Given<'a> = Use<'a, Reads<T>>;
    type Seen = usize;
    const BYTES: u64 = 8;

    fn seen(given: &Self::Given<'_>) -> usize {
        given.count()
    }
}

impl<T: Pod> Parameter for Writes<T> {
    type Given<'a> = Use<'a, Writes<T>>;
    type Seen = usize;
    const BYTES: u64 = 8;

    fn seen(given: &Self::Given<'_>) -> usize {
        given.count()
    }
}

macro_rules! numbers {
    ($($number:ty)+) => {
        $(impl Parameter for $number {
            type Given<'a> = $number;
            type Seen = $number;
            const BYTES: u64 = size_of::<$number>() as u64;

            fn seen(given: &$number) -> $number {
                *given
            }
        })+
    };
}

numbers! { u8 i8 u16 i16 u32 i32 u64 i64 f32 f64 }

/// The parameters of a [`CheckedKernel`]: a tuple of at most eight.
pub trait Parameters: 'static {
    /// The arguments of a launch.
    type Given<'a>: KernelArguments;
    /// What the check is told of them.
    type Seen;
    #[doc(hidden)]
    const BYTES: &'static [u64];

    #[doc(hidden)]
    fn seen(given: &Self::Given<'_>) -> Self::Seen;
}

macro_rules! tuples {
    ($(($($parameter:ident $at:tt)+))+) => {
        $(impl<$($parameter: Parameter),+> Parameters for ($($parameter,)+) {
            type Given<'a> = ($($parameter::Given<'a>,)+);
            type Seen = ($($parameter::Seen,)+);
            const BYTES: &'static [u64] = &[$($parameter::BYTES),+];

            fn seen(given: &Self::Given<'_>) -> Self::Seen {
                ($($parameter::seen(&given.$at),)+)
            }
        })+
    };
}

tuples! {
    (A 0) (A 0 B 1) (A 0 B 1 C 2) (A 0 B 1 C 2 D 3) (A 0 B 1 C 2 D 3 E 4) (A 0 B 1 C 2 D 3 E 4 F 5)
    (A 0 B 1 C 2 D 3 E 4 F 5 G 6) (A 0 B 1 C 2 D 3 E 4 F 5 G 6 H 7)
}

type Fits<P> = dyn Fn(&Shape, <P as Parameters>::Seen) -> bool + Send + Sync;

/// A kernel with the types of its parameters, and a check of its launches. Clones are the same.
pub struct CheckedKernel<P: Parameters> {
    kernel: Kernel,
    fits: Arc<Fits<P>>,
}

impl<P: Parameters> CheckedKernel<P> {
    /// Makes the launches of a kernel safe ([`Arrays::call`]): `fits` says whether a launch stays within its arguments.
    /// It gets the shape, the number of elements of each use, and each number. Parameters of other sizes are refused.
    ///
    /// # Safety
    /// In each launch that `fits` accepts, the kernel accesses only the elements of its uses, as elements of these
    /// types, and writes only those of [`Writes`], whatever the values of all elements are: discarded elements hold
    /// arbitrary old values. No two uses overlap if one of them writes. Its module stays loaded while there are clones
    /// of the kernel and computations that use it.
    pub unsafe fn new(
        kernel: Kernel,
        fits: impl Fn(&Shape, P::Seen) -> bool + Send + Sync + 'static,
    ) -> hal::Result<CheckedKernel<P>> {
        let (takes, given) = (kernel.sizes_bytes(), P::BYTES);
        if takes != given {
            let text =
                format!("kernel {}: its parameters have {takes:?} bytes, and the types {given:?}", kernel.name());
            return Err(Code::INVALID_VALUE.at("overtake kernel").because(text));
        }
        Ok(CheckedKernel { kernel, fits: Arc::new(fits) })
    }
}

impl Arrays {
    /// As [`Arrays::compute`], for a kernel whose launches are checked: those that do not fit are refused.
    ///
    /// ```
    /// # use overtake::{Context, ContextOptions};
    /// # use std::sync::Arc;
    /// use overtake::data::{CheckedKernel, Reads, Writes, discard, read};
    /// use overtake::task::{Kernel, Shape};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let soft = workloads::register(softgpu::SoftGpu::builder()).build();
    /// # let driver: Arc<dyn overtake::hal::Driver> = Arc::new(soft);
    /// # let context = Context::open_on(&driver, ContextOptions::default())?;
    /// # let kernels = workloads::Kernels::load(&*driver)?;
    /// let add = Kernel::find(&*driver, kernels.module(), "work_add")?; // sum[i] = left[i] + right[i], `count` of them
    /// // SAFETY: it accesses the first `count` elements of each, whatever its shape.
    /// let add = unsafe {
    ///     CheckedKernel::<(Reads<f32>, Reads<f32>, Writes<f32>, u32)>::new(add, |_, (left, right, sum, count)| {
    ///         count as usize <= left.min(right).min(sum)
    ///     })?
    /// };
    /// let (x, y) = (context.arrays().array_of(&[1.0_f32; 256])?, context.arrays().array::<f32>(&[256])?);
    /// let line = Shape::line(1, 256);
    /// context.arrays().call("double", &add, line, (read(&x), read(&x), discard(&y), 256))?.submit()?;
    /// assert!(context.arrays().call("beyond", &add, line, (read(&x), read(&x), discard(&y), 257)).is_err());
    /// assert_eq!(y.read()?[255], 2.0);
    /// # Ok(())
    /// # }
    /// ```
    pub fn call<'c, P: Parameters>(
        &'c self,
        name: &'c str,
        kernel: &CheckedKernel<P>,
        shape: Shape,
        arguments: P::Given<'_>,
    ) -> Result<Computation<'c>, Error> {
        if !(kernel.fits)(&shape, P::seen(&arguments)) {
            let text = format!(
                "kernel {} would leave its arguments in \"{name}\": its check refuses these numbers of elements, these \
                 numbers, or the shape",
                kernel.kernel.name()
            );
            return Err(Code::INVALID_VALUE.at("overtake kernel launch").because(text).into());
        }
        // SAFETY: that is the promise of `new`, and the launch has been accepted. Uses that it does not cover are
        // refused before the computation can be submitted.
        let computation = unsafe { self.compute(name, &kernel.kernel, shape, arguments) };
        computation.refuse_for_call(&kernel.kernel)?;
        Ok(computation)
    }
}

impl<P: Parameters> Clone for CheckedKernel<P> {
    fn clone(&self) -> Self {
        CheckedKernel { kernel: self.kernel.clone(), fits: Arc::clone(&self.fits) }
    }
}

impl<P: Parameters> fmt::Debug for CheckedKernel<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CheckedKernel").field("kernel", &self.kernel).finish_non_exhaustive()
    }
}
