//! Operators of reductions.

use std::any::TypeId;

use bytemuck::Pod;

/// The operator of a reduction. The order in which results are combined must not matter, and each type is one operator.
pub trait Operator<T>: 'static {
    /// The neutral element, from which each partial result starts.
    const IDENTITY: T;

    /// Combines two values.
    fn combine(one: T, other: T) -> T;
}

/// The sum. Integers wrap around.
#[derive(Clone, Copy, Debug)]
pub struct Sum;

/// The minimum.
#[derive(Clone, Copy, Debug)]
pub struct Min;

/// The maximum.
#[derive(Clone, Copy, Debug)]
pub struct Max;

macro_rules! operators {
    ($($number:ty: $zero:expr, $add:expr, $least:expr, $greatest:expr;)+) => {
        $(
            impl Operator<$number> for Sum {
                const IDENTITY: $number = $zero;
                fn combine(one: $number, other: $number) -> $number {
                    $add(one, other)
                }
            }

            impl Operator<$number> for Min {
                const IDENTITY: $number = $greatest;
                fn combine(one: $number, other: $number) -> $number {
                    one.min(other)
                }
            }

            impl Operator<$number> for Max {
                const IDENTITY: $number = $least;
                fn combine(one: $number, other: $number) -> $number {
                    one.max(other)
                }
            }
        )+
    };
}

macro_rules! integers {
    ($($number:ident)+) => {
        operators! { $($number: 0, $number::wrapping_add, $number::MIN, $number::MAX;)+ }
    };
}

integers! { u8 i8 u16 i16 u32 i32 u64 i64 }
operators! {
    f32: 0.0, std::ops::Add::add, f32::NEG_INFINITY, f32::INFINITY;
    f64: 0.0, std::ops::Add::add, f64::NEG_INFINITY, f64::INFINITY;
}

/// An operator of elements whose type is not known.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reducer {
    /// Of the operator and of its elements.
    id: TypeId,
    /// The bytes of the identity.
    pub identity: fn() -> Vec<u8>,
    /// Combines each element with one of the others.
    pub combine: fn(&mut [u8], &[u8]),
}

impl Reducer {
    pub fn of<T: Pod, O: Operator<T>>() -> Reducer {
        let combine = |into: &mut [u8], others: &[u8]| {
            let (into, others) = (bytemuck::cast_slice_mut::<u8, T>(into), bytemuck::cast_slice::<u8, T>(others));
            into.iter_mut().zip(others).for_each(|(one, other)| *one = O::combine(*one, *other));
        };
        let identity = || bytemuck::bytes_of(&O::IDENTITY).to_vec();
        Reducer { id: TypeId::of::<(O, T)>(), identity, combine }
    }

    /// Whether results of both may be combined in any order.
    pub fn is(&self, other: &Reducer) -> bool {
        self.id == other.id
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<T: Pod + PartialEq + std::fmt::Debug, O: Operator<T>>(one: T, other: T, both: T) {
        let reducer = Reducer::of::<T, O>();
        let combined = |one: T, other: T| {
            let mut into = [one];
            (reducer.combine)(bytemuck::cast_slice_mut(&mut into), bytemuck::bytes_of(&other));
            into[0]
        };
        assert_eq!((combined(one, other), combined(other, one)), (both, both));
        for value in [one, other, both] {
            assert_eq!(combined(value, O::IDENTITY), value, "the identity changes it");
            assert_eq!((reducer.identity)(), bytemuck::bytes_of(&O::IDENTITY));
        }
    }

    macro_rules! all {
        ($($number:ident)+) => {
            $({
                let (one, three, four) = (1 as $number, 3 as $number, 4 as $number);
                check::<$number, Sum>(one, three, four);
                check::<$number, Min>(one, three, one);
                check::<$number, Max>(one, three, three);
            })+
        };
    }

    #[test]
    fn identities_change_nothing_and_order_does_not_matter() {
        all! { u8 i8 u16 i16 u32 i32 u64 i64 f32 f64 }
        check::<i64, Max>(i64::MIN, -3, -3);
        check::<i64, Min>(i64::MAX, -3, -3);
        check::<u8, Sum>(200, 100, 44);
        check::<f64, Max>(f64::NEG_INFINITY, -1e300, -1e300);
    }

    #[test]
    fn an_operator_is_one_of_its_elements() {
        let sum = Reducer::of::<u32, Sum>();
        assert!(sum.is(&Reducer::of::<u32, Sum>()));
        assert!(!sum.is(&Reducer::of::<u32, Max>()) && !sum.is(&Reducer::of::<f32, Sum>()));
    }
}
