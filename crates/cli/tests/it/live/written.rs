//! Processes that do nothing, and files as the drop-in would write them for these.

use std::path::Path;
use std::process::{Child, Command};
use std::time::{SystemTime, UNIX_EPOCH};

use os::board::Board;
use serde_json::{Value, json};
use shim::live::{BOUNDS_US, name_of};

/// The place of the files, in memory, and the variable that names it.
pub struct Place(tempfile::TempDir);

impl Place {
    pub fn new() -> Place {
        Place(tempfile::tempdir_in("/dev/shm").unwrap())
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// The command, which looks there first.
    pub fn overtake(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_overtake"));
        command.args(arguments).env("XDG_RUNTIME_DIR", self.path());
        command
    }

    /// The names of the files.
    pub fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.path().join("overtake")).into_iter().flatten();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }
}

/// A process that sleeps, and its file.
pub struct Sleeper {
    child: Child,
    board: Board,
}

impl Sleeper {
    pub fn new(place: &Place) -> Sleeper {
        let child = Command::new("sleep").arg("600").spawn().unwrap();
        let name = name_of(child.id()).unwrap();
        let board = Board::make(&place.path().join("overtake"), &name).unwrap();
        Sleeper { child, board }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Writes the counts of one device: so many MB to the device by kernel, and so many urgent copies of 8 us.
    pub fn write(&mut self, program: &str, mb: u64, urgent: u64) {
        let mut buckets = vec![0; BOUNDS_US.len() + 1];
        buckets[5] = urgent;
        let amount = json!({"copies": mb, "bytes": mb * 1_000_000});
        let devices = json!([{
            "device": 0, "name": "a \"device\"", "pci": "", "contexts": 1, "stand_downs": 2, "stood_down": true,
            "copies": {"kernel": amount, "urgent": {"copies": urgent, "bytes": 0}, "staged": amount},
            "moved": [{"direction": "h2d", "way": "kernel", "copies": mb, "bytes": mb * 1_000_000},
                      {"direction": "d2h", "way": "staged", "copies": mb, "bytes": mb * 1_000_000}],
            "passed_on": [{"reason": "within budget", "copies": 4, "bytes": 8}],
            "latencies": [{"priority": 7, "count": urgent, "p50_us": 8.0, "p99_us": 8.0, "max_us": 8.0,
                           "sum_us": 8 * urgent, "buckets": buckets}],
        }]);
        self.put(program, now_ms(), devices);
    }

    pub fn put(&mut self, program: &str, written_unix_ms: u64, devices: Value) {
        let record = json!({"format": 1, "pid": self.pid(), "program": program, "state": "open",
            "deployment": "preload", "started_unix_ms": 1, "written_unix_ms": written_unix_ms,
            "devices": devices, "passed_on": []});
        assert!(self.board.write(record.to_string().as_bytes()));
    }

    /// Ends the process, as by `kill -9`: nobody removes its file.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Sleeper {
    fn drop(&mut self) {
        self.kill();
    }
}

pub fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as u64
}

/// What `overtake metrics` prints about one process.
pub fn metrics() -> String {
    let place = Place::new();
    let mut sleeper = Sleeper::new(&place);
    sleeper.write("/usr/bin/serve \"x\".py", 3, 5);
    let output = place.overtake(&["metrics"]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}
