//! `overtake metrics`.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use super::exposition::{self, Samples};
use super::written::{Place, Sleeper, metrics};

fn value(samples: &Samples, name: &str, wanted: &[(&str, &str)]) -> f64 {
    let matches = |labels: &BTreeMap<String, String>| {
        wanted.iter().all(|(key, value)| labels.get(*key).is_some_and(|its| its == value))
    };
    let found: Vec<f64> =
        samples.iter().filter(|((its, labels), _)| its == name && matches(labels)).map(|(_, value)| *value).collect();
    assert_eq!(found.len(), 1, "{name} {wanted:?}: {samples:?}");
    found[0]
}

#[test]
fn a_strict_reader_finds_every_figure_in_the_text() {
    let samples = exposition::read(&metrics());
    let program = ("program", "serve \"x\".py");
    let value = |name: &str, wanted: &[(&str, &str)]| value(&samples, name, &[wanted, &[program]].concat());
    assert_eq!(value("overtake_copy_bytes_total", &[("direction", "h2d"), ("way", "kernel")]), 3e6);
    assert_eq!(value("overtake_copies_total", &[("direction", "d2h"), ("way", "staged"), ("gpu", "0")]), 3.0);
    assert_eq!(value("overtake_native_copies_total", &[("reason", "within budget")]), 4.0);
    assert_eq!(value("overtake_copy_wait_seconds_bucket", &[("le", "0.000007"), ("priority", "7")]), 0.0);
    assert_eq!(value("overtake_copy_wait_seconds_bucket", &[("le", "0.00001"), ("priority", "7")]), 5.0);
    assert_eq!(value("overtake_copy_wait_seconds_sum", &[]), 40e-6);
    assert_eq!(value("overtake_stand_downs_total", &[("device", "a \"device\"")]), 2.0);
    assert_eq!(value("overtake_stood_down", &[]), 1.0);
}

struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

fn fetch(address: &str, request: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn a_loopback_port_serves_the_text() {
    let place = Place::new();
    let mut sleeper = Sleeper::new(&place);
    sleeper.write("serve.py", 1, 1);
    let mut command = place.overtake(&["metrics", "--listen", "127.0.0.1:0"]);
    let mut running = Running(command.stdout(Stdio::piped()).spawn().unwrap());
    let mut line = String::new();
    BufReader::new(running.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let address = line.trim().strip_prefix("http://").unwrap().strip_suffix("/metrics").unwrap();
    for mb in [2, 5] {
        sleeper.write("serve.py", mb, 1);
        let answer = fetch(address, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 200 OK\r\n") && head.contains("text/plain; version=0.0.4"), "{head}");
        assert!(head.contains(&format!("Content-Length: {}\r\n", body.len())), "{head}");
        let samples = exposition::read(body);
        let bytes = value(&samples, "overtake_copy_bytes_total", &[("program", "serve.py"), ("way", "kernel")]);
        assert_eq!(bytes, mb as f64 * 1e6);
    }
    assert!(fetch(address, "GET / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404"));
    assert!(fetch(address, "POST /metrics HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 405"));
}

#[test]
fn a_file_is_rewritten_as_a_whole() {
    let place = Place::new();
    let mut sleeper = Sleeper::new(&place);
    let path = place.path().join("overtake.prom");
    sleeper.write("serve.py", 1, 1);
    let arguments = ["metrics", "--every", "0.1", "--file", path.to_str().unwrap()];
    let _running = Running(place.overtake(&arguments).spawn().unwrap());
    for mb in [1, 9] {
        sleeper.write("serve.py", mb, 1);
        let wanted = format!("{}", mb * 1_000_000);
        let patience = Instant::now() + Duration::from_secs(30);
        loop {
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            let is_there = |line: &str| line.contains("way=\"kernel\"") && line.ends_with(&format!(" {wanted}"));
            if text.lines().any(is_there) {
                exposition::read(&text);
                break;
            }
            assert!(Instant::now() < patience, "{text}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

#[test]
fn other_machines_are_not_served() {
    let place = Place::new();
    let output = place.overtake(&["metrics", "--listen", "0.0.0.0:0"]).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(2) && said.contains("not a loopback address"), "{said}");
}
