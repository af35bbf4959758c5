//! The life of the program: started, signalled, stopped, ended.
//!
//! The program stays in our process group, so that a terminal and a shell treat both as the one job that they are. What
//! a terminal sends (interrupt, quit, stop, a new window size) therefore reaches the program without us, and is not
//! sent a second time. Everything else that reaches us was sent to us alone, or may have been, and is passed on.

use std::io;
use std::process::{Command, ExitCode};

use super::system::{self, Arrival, Change, Signals};

/// What a terminal sends to a whole process group.
const TERMINAL: [i32; 6] = [libc::SIGINT, libc::SIGQUIT, libc::SIGTSTP, libc::SIGTTIN, libc::SIGTTOU, libc::SIGWINCH];
/// Stops that are a shell's to undo. A child stopped in another way (by a debugger, say) is left to whoever stopped it.
const JOB_CONTROL: [i32; 3] = [libc::SIGTSTP, libc::SIGTTIN, libc::SIGTTOU];
/// What a shell adds to the number of a signal.
const SIGNAL_BASE: u8 = 128;

/// How the program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// With this status.
    Exited(i32),
    /// By this signal.
    Killed(i32),
}

impl Ending {
    /// Ends this process in the same way; where the signal cannot be had, with the status that a shell shows for it.
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

/// Runs the program to its end. An error means that it never started.
pub fn supervise(command: &mut Command) -> io::Result<Ending> {
    let signals = Signals::hold()?;
    signals.prepare(command);
    let child = command.spawn()?.id() as i32;
    loop {
        let arrival = signals.next();
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

/// Whether the program has not got this signal yet. What the program itself sends to its group it has got.
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
