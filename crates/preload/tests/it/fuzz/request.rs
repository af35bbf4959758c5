//! The arguments of a run by hand.

#[derive(Clone, Debug)]
pub struct Request {
    /// Programs in all.
    pub programs: u32,
    /// The seed of the first; the others follow.
    pub first: u32,
    /// Programs that one process runs.
    pub each: u32,
    /// Processes at once.
    pub jobs: usize,
    /// A summary for scripts.
    pub is_json: bool,
    /// Further arguments of every program.
    pub further: Vec<String>,
}

const USAGE: &str = "\
--programs N [--first SEED] [--each N] [--jobs N] [--json] [-- arguments of the program]";

impl Request {
    /// Reads the words of a command line.
    pub fn read(words: &[String]) -> Result<Request, String> {
        let mut request = Request { programs: 0, first: 1, each: 10, jobs: 1, is_json: false, further: Vec::new() };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let mut number = || -> Result<u32, String> {
                let value = words.next().ok_or(format!("{word} needs a number: {USAGE}"))?;
                value.parse().map_err(|_| format!("{word} cannot be {value}: {USAGE}"))
            };
            match word.as_str() {
                "--programs" => request.programs = number()?,
                "--first" => request.first = number()?,
                "--each" => request.each = number()?.max(1),
                "--jobs" => request.jobs = number()?.max(1) as usize,
                "--json" => request.is_json = true,
                "--" => request.further.extend(words.by_ref().cloned()),
                _ => return Err(format!("{word} is unknown: {USAGE}")),
            }
        }
        Ok(request)
    }
}
