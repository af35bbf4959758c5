//! One text at a loopback port, for Prometheus to fetch.

use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use console::failure::{Failure, Result};
use console::output;

/// The time for one answer: meanwhile others wait.
const PATIENCE: Duration = Duration::from_secs(2);
/// A request of Prometheus comes in one or two pieces.
const PIECES_MAX: usize = 16;

/// Serves until the command is ended, one request after another.
pub fn serve(address: SocketAddr, text: impl Fn() -> String) -> Result<()> {
    let cannot = |error: io::Error| Failure::Other(format!("cannot listen at {address}: {error}"));
    let listener = TcpListener::bind(address).map_err(cannot)?;
    let address = listener.local_addr().map_err(cannot)?;
    output::print(&format!("http://{address}/metrics\n"))?;
    for client in listener.incoming().flatten() {
        // Its client asks again.
        let _unheard = answer(client, &text);
    }
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "the time of a client is not a device's")]
fn answer(mut client: TcpStream, text: &impl Fn() -> String) -> io::Result<()> {
    let until = Instant::now() + PATIENCE;
    let request = request(&mut client, until)?;
    let mut words = request.split_whitespace();
    let (status, kind, body) = match (words.next(), words.next()) {
        (Some("GET"), Some("/metrics")) => ("200 OK", "text/plain; version=0.0.4; charset=utf-8", text()),
        (Some("GET"), _) => ("404 Not Found", "text/plain", "the text is at /metrics\n".to_owned()),
        _ => ("405 Method Not Allowed", "text/plain", "only GET is answered\n".to_owned()),
    };
    let length = body.len();
    let head =
        format!("HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
    let answer = [head.as_bytes(), body.as_bytes()].concat();
    let mut left = &answer[..];
    while !left.is_empty() {
        client.set_write_timeout(Some(left_of(until)?))?;
        left = &left[client.write(left)?..];
    }
    Ok(())
}

/// The request up to the empty line behind its heading.
fn request(client: &mut TcpStream, until: Instant) -> io::Result<String> {
    let (mut bytes, mut piece) = (Vec::new(), [0; 1024]);
    for _ in 0..PIECES_MAX {
        client.set_read_timeout(Some(left_of(until)?))?;
        let count = client.read(&mut piece)?;
        bytes.extend_from_slice(&piece[..count]);
        if bytes.windows(4).any(|end| end == b"\r\n\r\n") {
            return Ok(String::from_utf8_lossy(&bytes).into_owned());
        }
    }
    Err(io::ErrorKind::InvalidData.into())
}

#[expect(clippy::disallowed_methods, reason = "as there")]
fn left_of(until: Instant) -> io::Result<Duration> {
    let left = until.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(left) }
}
