//! The arguments of computations: tuples of uses and numbers.
#![allow(unsafe_code)] // views are made of addresses

use bytemuck::{NoUninit, Pod};
use hal::DevicePtr;
use overtake_tasks::task::Arguments;
use smallvec::SmallVec;

use crate::array::{Array, LentArrays};
use crate::claim::Claim;
use crate::right::{Place, Right, Writes};
use crate::uses::{Reduce, Relaxed, Use};

/// Uses that need no memory of their own.
const FEW: usize = 8;

/// The arguments of a kernel, with room for addresses that are not known yet.
#[derive(Debug, Default)]
pub struct Packed {
    arguments: Arguments,
    /// The arguments that are addresses of uses, by number; none of a token.
    uses: SmallVec<[Option<u32>; FEW]>,
}

impl Packed {
    #[inline]
    fn add_use(&mut self, is_token: bool) {
        if is_token {
            return self.uses.push(None);
        }
        self.uses.push(Some(self.arguments.count() as u32));
        self.arguments.push_address(DevicePtr(0));
    }

    /// Gives each use its address.
    pub(super) fn set(&mut self, addresses: &[u64]) {
        for (number, address) in self.uses.iter().zip(addresses) {
            if let Some(number) = number {
                self.arguments.set_address(*number as usize, *address);
            }
        }
    }

    pub(super) fn arguments(&mut self) -> &mut Arguments {
        &mut self.arguments
    }
}

/// An argument of a kernel: a use of an array, a number, or a [`Value`].
pub trait KernelArgument {
    #[doc(hidden)]
    fn put(&self, into: &mut Packed);

    #[doc(hidden)]
    fn claimed(&self) -> Option<Claim> {
        None
    }
}

impl<R: Right> KernelArgument for Use<'_, R> {
    fn put(&self, into: &mut Packed) {
        into.add_use(self.array.is_token());
    }

    fn claimed(&self) -> Option<Claim> {
        Some(self.claim())
    }
}

impl<T: Pod> KernelArgument for Relaxed<'_, T> {
    fn put(&self, into: &mut Packed) {
        into.add_use(self.0.array.is_token());
    }

    fn claimed(&self) -> Option<Claim> {
        Some(self.0.claim())
    }
}

impl<T: Pod> KernelArgument for Reduce<'_, T> {
    fn put(&self, into: &mut Packed) {
        into.add_use(self.uses.array.is_token());
    }

    fn claimed(&self) -> Option<Claim> {
        Some(self.claim())
    }
}

/// A value of any type, as a kernel declares it.
#[derive(Clone, Copy, Debug)]
pub struct Value<T: NoUninit>(pub T);

impl<T: NoUninit> KernelArgument for Value<T> {
    fn put(&self, into: &mut Packed) {
        into.arguments.push_bytes(bytemuck::bytes_of(&self.0));
    }
}

/// A value of a type that is known to the kernel only, as it lies in memory.
#[derive(Clone, Copy, Debug)]
pub struct Bytes<'b>(pub &'b [u8]);

impl KernelArgument for Bytes<'_> {
    fn put(&self, into: &mut Packed) {
        into.arguments.push_bytes(self.0);
    }
}

macro_rules! numbers {
    ($($number:ty)+) => {
        $(impl KernelArgument for $number {
            fn put(&self, into: &mut Packed) {
                Value(*self).put(into);
            }
        })+
    };
}

numbers! { u8 i8 u16 i16 u32 i32 u64 i64 f32 f64 }

/// The arguments of a kernel in its order: a tuple of at most twelve, or a slice of any number.
pub trait KernelArguments {
    #[doc(hidden)]
    fn packed(&self) -> Packed;

    #[doc(hidden)]
    fn claims(&self) -> Vec<Claim>;
}

impl KernelArguments for &[Box<dyn KernelArgument + '_>] {
    fn packed(&self) -> Packed {
        let mut packed = Packed::default();
        self.iter().for_each(|argument| argument.put(&mut packed));
        packed
    }

    fn claims(&self) -> Vec<Claim> {
        self.iter().filter_map(|argument| argument.claimed()).collect()
    }
}

/// A use of a function of the host: a [`Use`] or a [`Reduce`].
pub trait HostUse {
    /// Its right.
    type Right: Right;

    #[doc(hidden)]
    fn claimed(&self) -> Claim;

    /// How many elements it has.
    #[doc(hidden)]
    fn elements(&self) -> usize;

    /// Their shape, as an array of their own.
    #[doc(hidden)]
    fn shape(&self) -> Vec<usize>;
}

impl<R: Right> HostUse for Use<'_, R> {
    type Right = R;

    fn claimed(&self) -> Claim {
        self.claim()
    }

    fn elements(&self) -> usize {
        self.count()
    }

    fn shape(&self) -> Vec<usize> {
        Use::shape(self)
    }
}

impl<T: Pod> HostUse for Reduce<'_, T> {
    type Right = Writes<T>;

    fn claimed(&self) -> Claim {
        self.claim()
    }

    fn elements(&self) -> usize {
        self.uses.count()
    }

    fn shape(&self) -> Vec<usize> {
        self.uses.shape()
    }
}

/// Uses of a function of the host: a tuple of at most six.
pub trait HostUses {
    /// Their rights.
    type Rights: Rights;
    /// An array for each, in a section.
    type Arrays;

    #[doc(hidden)]
    fn claims(&self) -> Vec<Claim>;

    /// The elements of each.
    #[doc(hidden)]
    fn elements(&self) -> Vec<usize>;

    /// The arrays of a section.
    #[doc(hidden)]
    fn arrays(&self, lent: &mut LentArrays) -> Self::Arrays;
}

/// The rights of several uses.
pub trait Rights: 'static {
    /// The slices that a function of the host gets.
    type Views<'v>;

    /// # Safety
    /// As [`Right::view`], for each place, and there is one for each.
    #[doc(hidden)]
    unsafe fn views<'v>(places: &[Place]) -> Self::Views<'v>;
}

macro_rules! host_tuples {
    ($(($($right:ident $at:tt)+))+) => {
        $(impl<$($right: Right),+> Rights for ($($right,)+) {
            type Views<'v> = ($($right::View<'v>,)+);

            unsafe fn views<'v>(places: &[Place]) -> Self::Views<'v> {
                // SAFETY: passed on to the caller.
                ($(unsafe { $right::view(places[$at]) },)+)
            }
        }

        impl<$($right: HostUse),+> HostUses for ($($right,)+) {
            type Rights = ($($right::Right,)+);
            type Arrays = ($(Array<<$right::Right as Right>::Element>,)+);

            fn claims(&self) -> Vec<Claim> {
                vec![$(self.$at.claimed()),+]
            }

            fn elements(&self) -> Vec<usize> {
                vec![$(self.$at.elements()),+]
            }

            fn arrays(&self, lent: &mut LentArrays) -> Self::Arrays {
                ($(lent.next_array(self.$at.shape()),)+)
            }
        })+
    };
}

host_tuples! { (A 0) (A 0 B 1) (A 0 B 1 C 2) (A 0 B 1 C 2 D 3) (A 0 B 1 C 2 D 3 E 4) (A 0 B 1 C 2 D 3 E 4 F 5) }

macro_rules! kernel_tuples {
    ($(($($argument:ident $at:tt)+))+) => {
        $(impl<$($argument: KernelArgument),+> KernelArguments for ($($argument,)+) {
            fn packed(&self) -> Packed {
                let mut packed = Packed::default();
                $(self.$at.put(&mut packed);)+
                packed
            }

            fn claims(&self) -> Vec<Claim> {
                [$(self.$at.claimed()),+].into_iter().flatten().collect()
            }
        })+
    };
}

kernel_tuples! {
    (A 0) (A 0 B 1) (A 0 B 1 C 2) (A 0 B 1 C 2 D 3) (A 0 B 1 C 2 D 3 E 4) (A 0 B 1 C 2 D 3 E 4 F 5)
    (A 0 B 1 C 2 D 3 E 4 F 5 G 6) (A 0 B 1 C 2 D 3 E 4 F 5 G 6 H 7) (A 0 B 1 C 2 D 3 E 4 F 5 G 6 H 7 I 8)
    (A 0 B 1 C 2 D 3 E 4 F 5 G 6 H 7 I 8 J 9) (A 0 B 1 C 2 D 3 E 4 F 5 G 6 H 7 I 8 J 9 K 10)
    (A 0 B 1 C 2 D 3 E 4 F 5 G 6 H 7 I 8 J 9 K 10 L 11)
}
