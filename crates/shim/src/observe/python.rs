//! The place in a Python program. Where the thread that copies holds the interpreter's lock, the public functions of
//! Python's C interface tell it. Most extensions give the lock back while they copy, and taking it here could have two
//! threads wait for each other. Then the function tells it with which Python's own handler of faults prints the frames
//! of a thread: it needs no lock and calls nothing that does, and the frames of this thread stay as they are meanwhile.
//! Python up to 3.12 exports it.
#![allow(unsafe_code)] // C functions that are found by name

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::null_mut;

/// The innermost functions that are named.
const DEPTH: usize = 3;

type Object = *mut c_void;

/// The functions of the interpreter in this process. Since Python 3.9 all of them are public.
struct Python {
    holds_lock: unsafe extern "C" fn() -> c_int,
    error: unsafe extern "C" fn() -> Object,
    clear: unsafe extern "C" fn(),
    frame: unsafe extern "C" fn() -> Object,
    line: unsafe extern "C" fn(frame: Object) -> c_int,
    code: unsafe extern "C" fn(frame: Object) -> Object,
    back: unsafe extern "C" fn(frame: Object) -> Object,
    attribute: unsafe extern "C" fn(object: Object, name: *const c_char) -> Object,
    text: unsafe extern "C" fn(text: Object) -> *const c_char,
    retain: unsafe extern "C" fn(object: Object),
    release: unsafe extern "C" fn(object: Object),
}

/// # Safety
/// `F` is the type of a pointer to the function of this name.
unsafe fn find<F: Copy>(name: &CStr) -> Option<F> {
    const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
    // SAFETY: the name is NUL-terminated.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    // SAFETY: not null; a function pointer of the type that the caller promises.
    (!found.is_null()).then(|| unsafe { std::mem::transmute_copy(&found) })
}

impl Python {
    fn here() -> Option<Python> {
        // SAFETY: the prototypes are those of Python's manual.
        unsafe {
            Some(Python {
                holds_lock: find(c"PyGILState_Check")?,
                error: find(c"PyErr_Occurred")?,
                clear: find(c"PyErr_Clear")?,
                frame: find(c"PyEval_GetFrame")?,
                line: find(c"PyFrame_GetLineNumber")?,
                code: find(c"PyFrame_GetCode")?,
                back: find(c"PyFrame_GetBack")?,
                attribute: find(c"PyObject_GetAttrString")?,
                text: find(c"PyUnicode_AsUTF8")?,
                retain: find(c"Py_IncRef")?,
                release: find(c"Py_DecRef")?,
            })
        }
    }

    /// The text of an attribute; empty if it is none.
    ///
    /// # Safety
    /// The calling thread holds the interpreter's lock, and `object` is alive.
    unsafe fn text_of(&self, object: Object, name: &CStr) -> String {
        // SAFETY: as the caller promises. What is returned is owned here until it is released, and so is its text.
        unsafe {
            let value = (self.attribute)(object, name.as_ptr());
            let text = if value.is_null() { null_mut() } else { (self.text)(value).cast_mut() };
            let copied =
                if text.is_null() { String::new() } else { CStr::from_ptr(text).to_string_lossy().into_owned() };
            if text.is_null() {
                (self.clear)();
            }
            (self.release)(value);
            copied
        }
    }

    /// `file:line function` of a frame.
    ///
    /// # Safety
    /// As for [`Python::text_of`].
    unsafe fn shown(&self, frame: Object) -> String {
        // SAFETY: as the caller promises; the code is owned here until it is released.
        unsafe {
            let line = (self.line)(frame);
            let code = (self.code)(frame);
            let (file, function) = (self.text_of(code, c"co_filename"), self.text_of(code, c"co_name"));
            (self.release)(code);
            format!("{file}:{line} {function}")
        }
    }

    fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        // SAFETY: the first question may be asked on any thread. All others are asked only if this thread holds the
        // lock, and while no exception of the program's is pending. The first frame is borrowed and retained; each one
        // is released when the next has been taken.
        unsafe {
            if (self.holds_lock)() == 0 || !(self.error)().is_null() {
                return lines;
            }
            let mut frame = (self.frame)();
            if !frame.is_null() {
                (self.retain)(frame);
            }
            while !frame.is_null() && lines.len() < DEPTH {
                lines.push(self.shown(frame));
                let back = (self.back)(frame);
                (self.release)(frame);
                frame = back;
            }
            if !frame.is_null() {
                (self.release)(frame);
            }
        }
        lines
    }
}

/// The most bytes of printed frames that are read.
const PRINTED_BYTES_MAX: usize = 1 << 12;

/// Where the code of others lies.
const OF_OTHERS: [&str; 3] = ["/site-packages/", "/dist-packages/", "/lib/python3"];

type ThisThread = unsafe extern "C" fn() -> *mut c_void;
type Print = unsafe extern "C" fn(file: c_int, thread: *mut c_void);

/// The innermost Python function of the calling thread, which need not hold the lock, and the function of the program
/// that called it. It costs some system calls for each frame.
pub(super) fn line_without_lock() -> Option<String> {
    // SAFETY: the prototypes are those of Python's manual, and of its source from 3.3 on.
    let (this_thread, print) =
        unsafe { (find::<ThisThread>(c"PyGILState_GetThisThreadState")?, find::<Print>(c"_Py_DumpTraceback")?) };
    let mut text = [0_u8; PRINTED_BYTES_MAX];
    // SAFETY: the thread's state, if it has one, lives as long as the thread; printing reads the frames of this very
    // thread, and writes to the file alone. The file is open between the calls, and the buffer has so many bytes.
    let read = unsafe {
        let thread = this_thread();
        if thread.is_null() {
            return None;
        }
        let file = libc::memfd_create(c"overtake-frames".as_ptr(), libc::MFD_CLOEXEC);
        if file < 0 {
            return None;
        }
        print(file, thread);
        let read = libc::pread(file, text.as_mut_ptr().cast(), text.len(), 0);
        libc::close(file);
        read
    };
    let printed = String::from_utf8_lossy(text.get(..usize::try_from(read).ok()?)?).into_owned();
    innermost(&printed)
}

/// `file:line function, called from file:line function`. The second is the program's own where the first is not.
fn innermost(printed: &str) -> Option<String> {
    let is_of_others = |line: &String| OF_OTHERS.iter().any(|folder| line.contains(folder));
    let mut lines = printed.lines().filter_map(printed_line);
    let first = lines.next()?;
    let caller = if is_of_others(&first) { lines.find(|line| !is_of_others(line)) } else { lines.next() };
    Some(caller.map_or_else(|| first.clone(), |caller| format!("{first}, called from {caller}")))
}

/// `file:line function` of a line such as `  File "train.py", line 3 in load`.
fn printed_line(line: &str) -> Option<String> {
    let (file, rest) = line.trim_start().strip_prefix("File \"")?.rsplit_once("\", line ")?;
    let (number, function) = rest.split_once(" in ")?;
    Some(format!("{file}:{number} {function}"))
}

/// The innermost Python functions of the calling thread; empty if it runs none, or does not hold the lock.
pub(super) fn lines() -> Vec<String> {
    // Not kept: an interpreter may be loaded later, and a call that blocked for a millisecond pays for the lookup.
    Python::here().map(|python| python.lines()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_program_without_an_interpreter_has_no_lines() {
        assert!(super::lines().is_empty() && super::line_without_lock().is_none());
    }

    #[test]
    fn a_library_s_function_is_told_with_the_program_s_that_called_it() {
        let torch = "/env/lib/python3.11/site-packages/torch/nn/module.py";
        let of = |frames: &[(&str, &str)]| {
            let lines = frames.iter().map(|(file, function)| format!("  File \"{file}\", line 7 in {function}"));
            super::innermost(&lines.collect::<Vec<_>>().join("\n"))
        };
        let through = of(&[(torch, "convert"), (torch, "to"), ("/a/serve.py", "load"), ("/a/serve.py", "<module>")]);
        assert_eq!(through.unwrap(), format!("{torch}:7 convert, called from /a/serve.py:7 load"));
        let own = of(&[("/a/serve.py", "must"), ("/a/serve.py", "load"), ("/a/serve.py", "<module>")]);
        assert_eq!(own.as_deref(), Some("/a/serve.py:7 must, called from /a/serve.py:7 load"));
        assert_eq!(of(&[("/a/serve.py", "<module>")]).as_deref(), Some("/a/serve.py:7 <module>"));
        assert_eq!(of(&[]), None);
    }

    #[test]
    fn a_printed_frame_has_file_line_and_function() {
        let of = super::printed_line;
        assert_eq!(of("  File \"/a/train.py\", line 41 in load").as_deref(), Some("/a/train.py:41 load"));
        assert_eq!(of("Stack (most recent call first):"), None);
    }
}
