//! Plays the scripts of `graph/tests/cases` on a graph, and writes down its steps (`graph/tests/README.md`).

use std::collections::BTreeMap;
use std::fmt::Write;
use std::num::NonZeroU32;

use overtake_graph::{
    Cause, Direction, Graph, Kind, Mark, NodeId, Options, Order, Point, Priorities, Priority, Refused, Runner, Spec,
};

/// A script being played.
pub struct Player {
    graph: Graph,
    /// Every task that the script names, and its name again.
    ids: BTreeMap<String, NodeId>,
    names: BTreeMap<NodeId, String>,
    /// The number of launches of a task.
    turns: BTreeMap<NodeId, u32>,
    /// The tasks at the points of the lanes.
    points: BTreeMap<Point, String>,
    /// The lines of a task while it is launched, by its name and turn.
    during: BTreeMap<(String, u32), Vec<String>>,
    /// The tasks whose next launch fails.
    failing: Vec<String>,
    strands: std::collections::BTreeSet<u32>,
    syncs: u64,
    transcript: String,
}

/// The steps of the graph in this order.
pub fn play(script: &str, order: Order) -> String {
    let mut lines = script.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')).peekable();
    let mut options = Options { order, groups: 1, ..Options::default() };
    while let Some(rest) = lines.peek().and_then(|line| line.strip_prefix("options ")) {
        rest.split(' ').for_each(|setting| set(&mut options, setting));
        lines.next();
    }
    let mut player = Player {
        graph: Graph::new(options).expect("the options fit"),
        ids: BTreeMap::new(),
        names: BTreeMap::new(),
        turns: BTreeMap::new(),
        points: BTreeMap::new(),
        during: BTreeMap::new(),
        failing: Vec::new(),
        strands: std::collections::BTreeSet::new(),
        syncs: 0,
        transcript: String::new(),
    };
    lines.for_each(|line| player.act(line, None));
    let statistics = player.graph.statistics();
    let strands = player.strands.len();
    player.write(&format!(
        "rounds {}, strands {strands}, joins {}, saved {}, syncs {}; left {} tasks, {} edges",
        statistics.rounds,
        statistics.joins,
        statistics.joins_saved,
        statistics.syncs,
        statistics.nodes,
        statistics.edges
    ));
    player.transcript
}

fn set(options: &mut Options, setting: &str) {
    let (name, value) = setting.split_once('=').expect("name=value");
    let value: u32 = value.parse().expect("a number");
    match name {
        "priorities" => options.priorities = Priorities::new(value as u8).expect("1 to 32"),
        "groups" => options.groups = value as u8,
        "lanes" => options.lanes = value as u8,
        "nodes_max" => options.nodes_max = value,
        "edges_max" => options.edges_max = value,
        "phase_max" => options.phase_max = value,
        "share" => options.share = value,
        _ => panic!("there is no option {name}"),
    }
}

/// The words of a task: its kind, and those after it.
#[derive(Default)]
struct Words {
    kind: Option<Kind>,
    turns: u32,
    priority: Option<Priority>,
    after: Vec<String>,
    held: u32,
}

impl Words {
    fn read(words: &[&str]) -> Words {
        let mut read = Words { turns: 1, ..Words::default() };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let mut number = || words.next().and_then(|word| word.parse().ok()).expect("a number follows");
            match *word {
                "empty" => read.kind = Some(Kind::Empty),
                "host" => read.kind = Some(Kind::Host),
                "light" => read.kind = Some(Kind::Light),
                "kernel" => read.kind = Some(Kind::Kernel),
                "h2d" => read.kind = Some(Kind::Copy(Direction::HostToDevice)),
                "d2h" => read.kind = Some(Kind::Copy(Direction::DeviceToHost)),
                "priority" => read.priority = Priority::new(number() as u8),
                "held" => read.held = number(),
                "turns" => read.turns = number(),
                "after" => read.after.extend(words.by_ref().map(|word| (*word).to_owned())),
                _ => panic!("no word of a task: {word}"),
            }
        }
        read
    }
}

impl Player {
    /// Does one line of the script; `running` is the task in whose launch it stands.
    fn act(&mut self, line: &str, running: Option<NodeId>) {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["during", name, turn, ..] => {
                let (_, then) = line.split_once(": ").expect("during NAME TURN: ...");
                let turn = turn.trim_end_matches(':').parse().expect("a turn");
                self.during.entry((name.to_owned(), turn)).or_default().push(then.to_owned());
            }
            ["run"] => while self.step() {},
            ["step"] => assert!(self.step(), "no task is ready"),
            ["idle"] => assert!(!self.step(), "a task is ready"),
            ["complete", "all"] => self.complete_all(),
            ["complete", name] => {
                let at = self.points.iter().find(|(_, other)| *other == name).map(|(point, _)| *point);
                let at = at.unwrap_or_else(|| panic!("{name} has not been launched"));
                self.graph.complete(at.lane, at.value).expect("it was given out");
            }
            ["fail", "all"] => self.graph.fail(cause(1)),
            ["fail", name] => self.failing.push(name.to_owned()),
            ["broken", name] => {
                let told = self.graph.failed(self.ids[name], cause(2)).map(drop);
                self.tell(told);
            }
            ["sync"] => {
                let at = self.graph.sync_point(running.expect("a launch")).expect("it is being launched");
                self.points.insert(at, "sync".to_owned());
            }
            ["group", "begin"] => self.graph.begin_group(),
            ["group", "end"] => self.graph.end_group(),
            ["simulation", "begin"] => self.graph.begin_simulation(),
            ["simulation", "end"] => self.graph.end_simulation(),
            _ => self.submit(&words),
        }
        self.note_changes();
    }

    /// The lines that submit.
    fn submit(&mut self, words: &[&str]) {
        // A task that was refused has no id, and neither has any that comes after it.
        let is_new = ["task", "named"].contains(&words[0]);
        let after = words.iter().skip_while(|word| **word != "after").skip(1);
        let mut others = words[1..2].iter().filter(|_| !is_new).chain(after);
        if let Some(unknown) = others.find(|name| !self.ids.contains_key(**name)) {
            return self.write(&format!("left out, without {unknown}: {}", words.join(" ")));
        }
        let told = match words[..] {
            ["task", name, ..] => self.append(name, &Words::read(&words[2..])),
            ["fill", name, ..] => self.fill(name, &Words::read(&words[2..])),
            ["named", name] => self.graph.named(name).map(|id| self.know(name, id, 1)),
            ["before", first, then] => self.graph.before(self.ids[first], self.ids[then]),
            ["completion", first, then] => self.graph.before_at(self.ids[first], self.ids[then], Mark::Launched),
            ["prerequisite", first, then] => self.graph.before_at(self.ids[first], self.ids[then], Mark::Complete),
            ["hold", name] => self.graph.hold(self.ids[name]),
            ["release", name] => self.graph.release(self.ids[name]),
            ["priority", name, value] => {
                let priority = value.parse().ok().and_then(Priority::new).expect("a priority");
                self.graph.set_priority(self.ids[name], priority)
            }
            _ => panic!("no line of a script: {words:?}"),
        };
        self.tell(told);
    }

    fn append(&mut self, name: &str, words: &Words) -> Result<(), Refused> {
        let after: Vec<NodeId> = words.after.iter().map(|name| self.ids[name]).collect();
        let id = self.graph.append(&spec(name, words, &after))?;
        self.know(name, id, words.turns);
        Ok(())
    }

    fn fill(&mut self, name: &str, words: &Words) -> Result<(), Refused> {
        let after: Vec<NodeId> = words.after.iter().map(|name| self.ids[name]).collect();
        self.turns.insert(self.ids[name], words.turns);
        self.graph.fill(self.ids[name], &spec("", words, &after))
    }

    fn know(&mut self, name: &str, id: NodeId, turns: u32) {
        self.ids.insert(name.to_owned(), id);
        self.names.insert(id, name.to_owned());
        self.turns.insert(id, turns);
    }

    /// Launches or runs one task: one of the device, else a light one, else one of the host.
    fn step(&mut self) -> bool {
        let runners = [(Runner::Device, ""), (Runner::Light, "light "), (Runner::Host, "host ")];
        for (runner, prefix) in runners {
            let Some(ready) = self.graph.next(runner) else { continue };
            let (id, turn) = (ready.node, ready.turn);
            let name = self.names[&id].clone();
            let mut line = format!("{prefix}{name}");
            if let Some(place) = ready.place {
                self.strands.insert(place.strand);
                write!(line, ".{turn} on {}", place.strand).unwrap();
                if u32::from(place.lane) != place.strand {
                    write!(line, " in lane {}", place.lane).unwrap();
                }
            }
            let joins: Vec<&str> =
                ready.joins.iter().map(|point| self.points.get(point).map_or("?", String::as_str)).collect();
            if !joins.is_empty() {
                write!(line, " joins {}", joins.join(" ")).unwrap();
            }
            self.note_syncs();
            self.write(&line);
            for line in self.during.remove(&(name.clone(), turn)).unwrap_or_default() {
                self.act(&line, Some(id));
            }
            self.report(id, &name, turn);
            self.note_changes();
            return true;
        }
        false
    }

    /// Reports the launch that has just been made.
    fn report(&mut self, id: NodeId, name: &str, turn: u32) {
        let at = if let Some(index) = self.failing.iter().position(|failing| failing == name) {
            self.failing.remove(index);
            self.graph.failed(id, cause(1)).expect("it is being launched")
        } else if turn + 1 < self.turns[&id] {
            return self.graph.again(id).expect("it is being launched");
        } else {
            self.graph.launched(id).expect("it is being launched").at
        };
        if let Some(at) = at {
            self.points.insert(at, name.to_owned());
        }
    }

    fn complete_all(&mut self) {
        let points: Vec<Point> = self.points.keys().copied().collect();
        for at in points {
            self.graph.complete(at.lane, at.value).expect("it was given out");
        }
    }

    fn tell(&mut self, told: Result<(), Refused>) {
        if let Err(refused) = told {
            self.write(&format!("refused: {refused}"));
        }
    }

    fn note_syncs(&mut self) {
        let syncs = self.graph.statistics().syncs;
        (self.syncs..syncs).for_each(|_| self.write("wait for idle"));
        self.syncs = syncs;
    }

    fn note_changes(&mut self) {
        self.note_syncs();
        let mut changes = Vec::new();
        self.graph.inherited(|id, priority| changes.push((id, priority)));
        for (id, priority) in changes {
            self.write(&format!("{} has priority {priority}", self.names[&id]));
        }
        while let Some(ended) = self.graph.ended() {
            let name = self.names[&ended.node].clone();
            match ended.outcome {
                Ok(()) => self.write(&format!("end {name}")),
                Err(cause) => self.write(&format!("end {name}, cause {}, launches {}", cause.0, ended.turns)),
            }
        }
    }

    fn write(&mut self, line: &str) {
        self.transcript.push_str(line);
        self.transcript.push('\n');
    }
}

fn spec<'a>(name: &'a str, words: &Words, after: &'a [NodeId]) -> Spec<'a> {
    let (kind, priority) = (words.kind.expect("a kind"), words.priority.unwrap_or(Priority::LOWEST));
    Spec { kind, priority, name, after, references: words.held, device: 0, in_copy_strand: false }
}

fn cause(number: u32) -> Cause {
    Cause(NonZeroU32::new(number).expect("not 0"))
}
