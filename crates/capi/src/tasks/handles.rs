//! The handles that C has of dispatchers, sets, tasks, lanes, copy queues, arrays, pipelines and admissions: numbers in
//! the form of pointers, which are looked up. A handle that is wrong, or whose thing is gone, is found out.

use std::ffi::c_void;
use std::ops::{Deref, DerefMut};
use std::ptr::without_provenance_mut;
use std::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};

use hal::locks;
use overtake_tasks::within::{self, Level};

use crate::codes::{OVERTAKE_ERROR_CLOSED, OVERTAKE_ERROR_INVALID_HANDLE};
use crate::failure::{Failure, Outcome};
use crate::tasks::home::Home;

/// The kinds of things that have handles. Addresses with these numbers in their top bits are no addresses of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandleKind {
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

impl HandleKind {
    fn name(self) -> &'static str {
        match self {
            HandleKind::Dispatcher => "dispatcher",
            HandleKind::Set => "set of tasks",
            HandleKind::Task => "task",
            HandleKind::Lane => "lane",
            HandleKind::CopyQueue => "copy queue",
            HandleKind::Arrays => "set of arrays",
            HandleKind::Array => "array",
            HandleKind::Access => "access",
            HandleKind::Kernel => "kernel",
            HandleKind::Pipeline => "pipeline",
            HandleKind::PipelineEnd => "end of a pipeline",
            HandleKind::Template => "template",
            HandleKind::Admission => "admission",
        }
    }

    /// The kind of a handle.
    pub fn of<T>(handle: *const T) -> Option<HandleKind> {
        use HandleKind as Kind;
        const ALL: [HandleKind; 13] = [
            Kind::Dispatcher,
            Kind::Set,
            Kind::Task,
            Kind::Lane,
            Kind::CopyQueue,
            Kind::Arrays,
            Kind::Array,
            Kind::Access,
            Kind::Kernel,
            Kind::Pipeline,
            Kind::PipelineEnd,
            Kind::Template,
            Kind::Admission,
        ];
        ALL.into_iter().find(|kind| *kind as u64 == handle.addr() as u64 >> 60)
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

impl<T> Places<T> {
    /// Keeps a value and returns the number of its handle.
    fn add(&mut self, value: T) -> u64 {
        let index = self.free.pop().unwrap_or_else(|| {
            self.all.push(Place { use_number: 0, value: None });
            (self.all.len() - 1) as u32
        });
        let place = &mut self.all[index as usize];
        place.use_number = (place.use_number + 1) % USES;
        place.value = Some(value);
        u64::from(place.use_number) << PLACE_BITS | u64::from(index) << STEP_BITS
    }
}

/// The things of one kind.
#[derive(Debug)]
pub struct Handles<T> {
    kind: HandleKind,
    places: RwLock<Places<T>>,
}

/// A handle is the number of the use above this many bits, and of the place below, in steps of 16 as of an allocation.
const PLACE_BITS: u32 = 32;
const STEP_BITS: u32 = 4;
/// 28 bits are left for the number of the use.
const USES: u32 = 1 << 28;

/// The table of a kind, locked: no dispatcher is entered meanwhile, and no code of the program runs.
struct Locked<G>(G);

impl<G> Locked<G> {
    fn take(lock: impl FnOnce() -> G) -> Locked<G> {
        within::take(Level::Handles);
        Locked(lock())
    }
}

impl<G> Drop for Locked<G> {
    fn drop(&mut self) {
        within::give_back(Level::Handles);
    }
}

impl<G: Deref> Deref for Locked<G> {
    type Target = G::Target;

    fn deref(&self) -> &G::Target {
        &self.0
    }
}

impl<G: DerefMut> DerefMut for Locked<G> {
    fn deref_mut(&mut self) -> &mut G::Target {
        &mut self.0
    }
}

impl<T> Handles<T> {
    pub const fn new(kind: HandleKind) -> Handles<T> {
        Handles { kind, places: RwLock::new(Places { all: Vec::new(), free: Vec::new() }) }
    }

    fn read(&self) -> Locked<RwLockReadGuard<'_, Places<T>>> {
        Locked::take(|| locks::read(&self.places))
    }

    fn write(&self) -> Locked<RwLockWriteGuard<'_, Places<T>>> {
        Locked::take(|| locks::write(&self.places))
    }

    /// Keeps a value and returns its handle.
    pub fn add<H>(&self, value: T) -> *mut H {
        self.kind.handle(self.write().add(value))
    }

    /// The same for a thing of a dispatcher, which has been closed if this fails. One that closes a dispatcher closes
    /// its home first, and takes out what has been added by then.
    pub fn add_to<H>(&self, call: &str, home: Home, value: T) -> Outcome<*mut H> {
        let mut places = self.write();
        if !home.is_open() {
            // The value is dropped behind the lock, as a parameter.
            drop(places);
            return Err(Failure::new(OVERTAKE_ERROR_CLOSED, &format!("{call}: the dispatcher has been closed")));
        }
        Ok(self.kind.handle(places.add(value)))
    }

    fn index<H>(&self, places: &Places<T>, handle: *const H) -> Option<usize> {
        let number = handle.addr() as u64;
        let index = (number & ((1 << PLACE_BITS) - 1)) >> STEP_BITS;
        let place = places.all.get(index as usize)?;
        let its: *mut c_void = self.kind.handle(u64::from(place.use_number) << PLACE_BITS | index << STEP_BITS);
        (place.value.is_some() && its.addr() == handle.addr()).then_some(index as usize)
    }

    /// Looks at a value. `look` makes no call of the driver or of the program, enters no dispatcher and drops nothing
    /// that does: a lock is held. If it is not called, what it owns is dropped behind the lock, as a parameter.
    pub fn with<H, R>(&self, call: &str, handle: *const H, look: impl FnOnce(&T) -> R) -> Outcome<R> {
        let places = self.read();
        match self.index(&places, handle).and_then(|index| places.all[index].value.as_ref()) {
            Some(value) => Ok(look(value)),
            None => Err(self.kind.unknown(call, handle)),
        }
    }

    /// Changes a value, as [`Handles::with`].
    pub fn change<H, R>(&self, call: &str, handle: *const H, change: impl FnOnce(&mut T) -> R) -> Outcome<R> {
        let mut places = self.write();
        let index = self.index(&places, handle);
        match index.and_then(|index| places.all[index].value.as_mut()) {
            Some(value) => Ok(change(value)),
            None => Err(self.kind.unknown(call, handle)),
        }
    }

    /// Takes a value out: its handle is wrong from now on.
    pub fn remove<H>(&self, call: &str, handle: *const H) -> Outcome<T> {
        self.remove_if(call, handle, |_| Ok(()))
    }

    /// The same, if the value allows it.
    pub fn remove_if<H>(&self, call: &str, handle: *const H, may: impl FnOnce(&T) -> Outcome) -> Outcome<T> {
        let mut places = self.write();
        let index = self.index(&places, handle).ok_or_else(|| self.kind.unknown(call, handle))?;
        places.all[index].value.as_ref().map_or(Ok(()), may)?;
        places.free.push(index as u32);
        places.all[index].value.take().ok_or_else(|| self.kind.unknown(call, handle))
    }

    /// Takes all values out that are chosen.
    pub fn remove_all(&self, is_chosen: impl Fn(&T) -> bool) -> Vec<T> {
        let mut places = self.write();
        let mut removed = Vec::new();
        for index in 0..places.all.len() {
            if places.all[index].value.as_ref().is_some_and(&is_chosen) {
                removed.extend(places.all[index].value.take());
                places.free.push(index as u32);
            }
        }
        removed
    }

    /// Runs a test as another thread has the lock.
    #[cfg(test)]
    pub fn while_locked(&self, test: impl FnOnce()) {
        let _places = self.write();
        test();
    }

    /// Whether there is a value with a property.
    pub fn any(&self, has: impl Fn(&T) -> bool) -> bool {
        self.read().all.iter().filter_map(|place| place.value.as_ref()).any(has)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    fn refused<T>(outcome: Outcome<T>) -> String {
        let Err(failure) = outcome else { panic!("it is accepted") };
        assert_eq!(failure.code, OVERTAKE_ERROR_INVALID_HANDLE);
        failure.text.to_str().unwrap().to_owned()
    }

    #[test]
    fn a_handle_means_its_own_thing_or_none() {
        let tasks = Handles::new(HandleKind::Task);
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
        let sets = Handles::new(HandleKind::Set);
        let set: *mut u8 = sets.add(1);
        assert_eq!(refused(sets.with("call", std::ptr::null::<u8>(), |_| ())), "call: the set of tasks is null");
        let tasks = Handles::new(HandleKind::Task);
        let task: *mut u8 = tasks.add(2);
        for wrong in [task.addr(), set.addr() + 1, set.addr() + 16, set.addr() & !(15 << 60), 0x7fff_0000] {
            refused(sets.with("call", without_provenance_mut::<u8>(wrong), |_| ()));
        }
    }

    #[test]
    fn a_handle_tells_its_kind() {
        let kinds = |number: usize| HandleKind::of(without_provenance_mut::<u8>(number << 60 | 0x20));
        assert_eq!((kinds(1), kinds(8)), (Some(HandleKind::Dispatcher), Some(HandleKind::Access)));
        assert!((1..14).all(|number| kinds(number).is_some_and(|kind| kind as usize == number)));
        assert_eq!((kinds(0), kinds(14), kinds(15)), (None, None, None));
    }

    #[test]
    fn things_of_a_dispatcher_that_is_closed_get_no_handle() {
        let (tasks, home) = (Handles::new(HandleKind::Task), Home::open(false));
        let task: *mut u8 = tasks.add_to("call", home, "first").unwrap();
        home.close();
        let late = tasks.add_to::<u8>("call", home, "late").unwrap_err();
        assert_eq!((late.code, late.text.as_c_str()), (OVERTAKE_ERROR_CLOSED, c"call: the dispatcher has been closed"));
        assert_eq!((tasks.remove("call", task), tasks.any(|_| true)), (Ok("first"), false));
    }

    static PROBES: Handles<Probe> = Handles::new(HandleKind::Task);
    static FREE_LOCKS: AtomicU32 = AtomicU32::new(0);

    /// Counts the drops at which another thread could take the lock.
    struct Probe;

    impl Drop for Probe {
        fn drop(&mut self) {
            FREE_LOCKS.fetch_add(u32::from(PROBES.places.try_write().is_ok()), Ordering::Relaxed);
        }
    }

    #[test]
    fn what_a_refused_call_owns_is_dropped_without_the_lock() {
        let (none, home) = (std::ptr::null::<u8>(), Home::open(false));
        home.close();
        let (first, second) = (Probe, Probe);
        refused(PROBES.change("call", none, move |_| drop(first)));
        refused(PROBES.with("call", none, move |_| drop(second)));
        assert!(PROBES.add_to::<u8>("call", home, Probe).is_err());
        assert_eq!(FREE_LOCKS.load(Ordering::Relaxed), 3);
    }

    /// A dispatcher is entered with no table locked: it may run code of the program's, which asks for handles.
    #[test]
    fn no_other_lock_is_taken_with_that_of_a_table() {
        let sets = Handles::new(HandleKind::Set);
        let set: *mut u8 = sets.add(1);
        for level in [Level::Submissions, Level::State, Level::Handles] {
            let take = || sets.with("call", set, |_| within::take(level));
            let taken = std::panic::catch_unwind(std::panic::AssertUnwindSafe(take));
            assert!(taken.is_err() || cfg!(not(debug_assertions)), "{level:?}");
            within::give_back(level);
        }
        assert_eq!(sets.with("call", set, |set| *set), Ok(1));
    }

    #[test]
    fn the_things_of_an_owner_go_together() {
        let tasks = Handles::new(HandleKind::Task);
        let handles: Vec<*mut u8> = (0..4).map(|number| tasks.add(number % 2)).collect();
        assert_eq!(tasks.remove_all(|owner| *owner == 0), [0, 0]);
        refused(tasks.with("call", handles[0], |_| ()));
        assert_eq!(tasks.with("call", handles[1], |owner| *owner), Ok(1));
        assert!(tasks.any(|owner| *owner == 1) && !tasks.any(|owner| *owner == 0));
    }
}
