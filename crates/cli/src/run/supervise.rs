//! The life of the program: start, signals, stops, end.
//!
//! The program stays in our process group, so that a terminal and a shell treat both as one job. The signals of a
//! terminal (interrupt, quit, stop, a new window size) reach the program directly and are not sent a second time. All
//! other signals that reach us were sent to us alone, or may have been, and are passed on.

use std::io;
use std::process::{Command, ExitCode};

use super::system::{self, Arrival, Change, Signals};
use super::unseen::Looks;

/// Signals that a terminal sends to a whole process group.
const TERMINAL: [i32; 6] = [libc::SIGINT, libc::SIGQUIT, libc::SIGTSTP, libc::SIGTTIN, libc::SIGTTOU, libc::SIGWINCH];
/// Stops that a shell ends. If another process, such as a debugger, has stopped the child, it also continues it.
const JOB_CONTROL: [i32; 3] = [libc::SIGTSTP, libc::SIGTTIN, libc::SIGTTOU];
/// The number that a shell adds to that of a signal.
const SIGNAL_BASE: u8 = 128;

/// The way in which the program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// With this status.
    Exited(i32),
    /// By this signal.
    Killed(i32),
}

impl Ending {
    /// Ends this process in the same way. If the signal does not end it, it ends with the status that a shell shows
    /// for the signal.
    pub fn repeat(self) -> ExitCode {
        match self {
            Ending::Exited(status) => ExitCode::from(status as u8),
            Ending::Killed(signal) => {
                system::die(signal);
                ExitCode::from(SIGNAL_BASE.wrapping_add(signal as u8))
            }
        }
    }
}

/// Runs the program to its end, and looks at it now and then. An error means that it never started.
pub fn supervise(command: &mut Command, looks: &mut Looks<'_>) -> io::Result<Ending> {
    let signals = Signals::hold()?;
    signals.prepare(command);
    let child = command.spawn()?.id() as i32;
    loop {
        let Some(arrival) = signals.next(looks.next()) else {
            looks.look(child as u32);
            continue;
        };
        if arrival.signal != libc::SIGCHLD {
            if is_for_the_program(arrival, child) {
                system::send(child, arrival.signal);
            }
            continue;
        }
        // One signal may stand for several changes.
        while let Some(change) = system::change(child) {
            match change {
                Change::Exited(status) => return Ok(Ending::Exited(status)),
                Change::Killed(signal) => return Ok(Ending::Killed(signal)),
                Change::Stopped(signal) if JOB_CONTROL.contains(&signal) => signals.stop(),
                Change::Stopped(_) => {}
            }
        }
    }
}

/// Whether the program has not received this signal yet. A signal that the program sent to its own group has reached
/// it.
fn is_for_the_program(arrival: Arrival, child: i32) -> bool {
    match arrival.sender {
        None => !TERMINAL.contains(&arrival.signal),
        Some(sender) => sender != child,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_terminal_and_the_program_need_no_messenger() {
        let passes = |signal, sender| is_for_the_program(Arrival { signal, sender }, 7);
        assert!(!passes(libc::SIGINT, None) && !passes(libc::SIGWINCH, None));
        assert!(passes(libc::SIGHUP, None), "a hangup reaches the leader of a session alone");
        assert!(passes(libc::SIGINT, Some(3)) && passes(libc::SIGTERM, Some(3)));
        assert!(!passes(libc::SIGTERM, Some(7)));
    }
}
