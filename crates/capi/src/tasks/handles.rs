//! The handles that C has of dispatchers, sets, tasks, lanes, copy queues, arrays, pipelines and admissions: numbers in
//! the form of pointers, which are looked up. A handle that is wrong, or whose thing is gone, is found out.

use std::ffi::c_void;
use std::ptr::without_provenance_mut;
use std::sync::RwLock;

use hal::locks;

use crate::codes::OVERTAKE_ERROR_INVALID_HANDLE;
use crate::failure::{Failure, Outcome};

/// The kinds of things that have handles. Addresses with these numbers in their top bits are no addresses of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Dispatcher = 1,
    Set = 2,
    Task = 3,
    Lane = 4,
    CopyQueue = 5,
    Arrays = 6,
    Array = 7,
    Access = 8,
    Kernel = 9,
    Pipeline = 10,
    PipelineEnd = 11,
    Template = 12,
    Admission = 13,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Dispatcher => "dispatcher",
            Kind::Set => "set of tasks",
            Kind::Task => "task",
            Kind::Lane => "lane",
            Kind::CopyQueue => "copy queue",
            Kind::Arrays => "set of arrays",
            Kind::Array => "array",
            Kind::Access => "access",
            Kind::Kernel => "kernel",
            Kind::Pipeline => "pipeline",
            Kind::PipelineEnd => "end of a pipeline",
            Kind::Template => "template",
            Kind::Admission => "admission",
        }
    }

    /// The handle of this kind with a number of up to 60 bits.
    pub fn handle<T>(self, number: u64) -> *mut T {
        without_provenance_mut(((self as u64) << 60 | number) as usize)
    }

    /// The failure of a call that was given another handle.
    pub fn unknown<T>(self, call: &str, handle: *const T) -> Failure {
        let name = self.name();
        let text = match handle.is_null() {
            true => format!("{call}: the {name} is null"),
            false => {
                let article = if name.starts_with(['a', 'e']) { "an" } else { "a" };
                format!(
                    "{call}: {:#x} is not {article} {name} here, or no longer: it was freed or closed",
                    handle.addr()
                )
            }
        };
        Failure::new(OVERTAKE_ERROR_INVALID_HANDLE, &text)
    }
}

/// A place of the table.
#[derive(Debug)]
struct Place<T> {
    /// Which use of the place this is, so that an old handle does not mean a new thing.
    use_number: u32,
    value: Option<T>,
}

#[derive(Debug)]
struct Places<T> {
    all: Vec<Place<T>>,
    free: Vec<u32>,
}

/// The things of one kind.
#[derive(Debug)]
pub struct Handles<T> {
    kind: Kind,
    places: RwLock<Places<T>>,
}

/// A handle is the number of the use above this many bits, and of the place below, in steps of 16 as of an allocation.
const PLACE_BITS: u32 = 32;
const STEP_BITS: u32 = 4;
/// 28 bits are left for the number of the use.
const USES: u32 = 1 << 28;

impl<T> Handles<T> {
    pub const fn new(kind: Kind) -> Handles<T> {
        Handles { kind, places: RwLock::new(Places { all: Vec::new(), free: Vec::new() }) }
    }

    /// Keeps a value and returns its handle.
    pub fn add<H>(&self, value: T) -> *mut H {
        let mut places = locks::write(&self.places);
        let index = places.free.pop().unwrap_or_else(|| {
            places.all.push(Place { use_number: 0, value: None });
            (places.all.len() - 1) as u32
        });
        let place = &mut places.all[index as usize];
        place.use_number = (place.use_number + 1) % USES;
        place.value = Some(value);
        self.kind.handle(u64::from(place.use_number) << PLACE_BITS | u64::from(index) << STEP_BITS)
    }

    fn index<H>(&self, places: &Places<T>, handle: *const H) -> Option<usize> {
        let number = handle.addr() as u64;
        let index = (number & ((1 << PLACE_BITS) - 1)) >> STEP_BITS;
        let place = places.all.get(index as usize)?;
        let its: *mut c_void = self.kind.handle(u64::from(place.use_number) << PLACE_BITS | index << STEP_BITS);
        (place.value.is_some() && its.addr() == handle.addr()).then_some(index as usize)
    }

    /// Looks at a value. `look` makes no call of the driver or of the program: a lock is held.
    pub fn with<H, R>(&self, call: &str, handle: *const H, look: impl FnOnce(&T) -> R) -> Outcome<R> {
        let places = locks::read(&self.places);
        let value = self.index(&places, handle).and_then(|index| places.all[index].value.as_ref());
        value.map(look).ok_or_else(|| self.kind.unknown(call, handle))
    }

    /// Changes a value, as [`Handles::with`].
    pub fn change<H, R>(&self, call: &str, handle: *const H, change: impl FnOnce(&mut T) -> R) -> Outcome<R> {
        let mut places = locks::write(&self.places);
        let index = self.index(&places, handle);
        let value = index.and_then(|index| places.all[index].value.as_mut());
        value.map(change).ok_or_else(|| self.kind.unknown(call, handle))
    }

    /// Takes a value out: its handle is wrong from now on.
    pub fn remove<H>(&self, call: &str, handle: *const H) -> Outcome<T> {
        self.remove_if(call, handle, |_| Ok(()))
    }

    /// The same, if the value allows it.
    pub fn remove_if<H>(&self, call: &str, handle: *const H, may: impl FnOnce(&T) -> Outcome) -> Outcome<T> {
        let mut places = locks::write(&self.places);
        let index = self.index(&places, handle).ok_or_else(|| self.kind.unknown(call, handle))?;
        places.all[index].value.as_ref().map_or(Ok(()), may)?;
        places.free.push(index as u32);
        places.all[index].value.take().ok_or_else(|| self.kind.unknown(call, handle))
    }

    /// Takes all values out that are chosen.
    pub fn remove_all(&self, is_chosen: impl Fn(&T) -> bool) -> Vec<T> {
        let mut places = locks::write(&self.places);
        let mut removed = Vec::new();
        for index in 0..places.all.len() {
            if places.all[index].value.as_ref().is_some_and(&is_chosen) {
                removed.extend(places.all[index].value.take());
                places.free.push(index as u32);
            }
        }
        removed
    }

    /// Whether there is a value with a property.
    pub fn any(&self, has: impl Fn(&T) -> bool) -> bool {
        locks::read(&self.places).all.iter().filter_map(|place| place.value.as_ref()).any(has)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused<T>(outcome: Outcome<T>) -> String {
        let Err(failure) = outcome else { panic!("it is accepted") };
        assert_eq!(failure.code, OVERTAKE_ERROR_INVALID_HANDLE);
        failure.text.to_str().unwrap().to_owned()
    }

    #[test]
    fn a_handle_means_its_own_thing_or_none() {
        let tasks = Handles::new(Kind::Task);
        let (first, second): (*mut u8, *mut u8) = (tasks.add("first"), tasks.add("second"));
        assert_eq!(tasks.with("call", second, |name| *name), Ok("second"));
        assert_eq!(tasks.remove("call", first), Ok("first"));
        assert!(refused(tasks.with("call", first, |_| ())).starts_with("call: 0x"));
        let third: *mut u8 = tasks.add("third");
        assert_eq!(third.addr() & 0xffff_ffff, first.addr() & 0xffff_ffff, "the place is used again");
        refused(tasks.remove("call", first));
        assert_eq!(tasks.with("call", third, |name| *name), Ok("third"));
    }

    #[test]
    fn other_numbers_are_refused_by_name() {
        let sets = Handles::new(Kind::Set);
        let set: *mut u8 = sets.add(1);
        assert_eq!(refused(sets.with("call", std::ptr::null::<u8>(), |_| ())), "call: the set of tasks is null");
        let tasks = Handles::new(Kind::Task);
        let task: *mut u8 = tasks.add(2);
        for wrong in [task.addr(), set.addr() + 1, set.addr() + 16, set.addr() & !(15 << 60), 0x7fff_0000] {
            refused(sets.with("call", without_provenance_mut::<u8>(wrong), |_| ()));
        }
    }

    #[test]
    fn the_things_of_an_owner_go_together() {
        let tasks = Handles::new(Kind::Task);
        let handles: Vec<*mut u8> = (0..4).map(|number| tasks.add(number % 2)).collect();
        assert_eq!(tasks.remove_all(|owner| *owner == 0), [0, 0]);
        refused(tasks.with("call", handles[0], |_| ()));
        assert_eq!(tasks.with("call", handles[1], |owner| *owner), Ok(1));
        assert!(tasks.any(|owner| *owner == 1) && !tasks.any(|owner| *owner == 0));
    }
}
