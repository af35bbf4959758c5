//! 64 small copies at once.

use hal::{Event, Stream};
use overtake_softgpu::Connections;

use super::Figures;
use super::feeder::Feeder;
use crate::facts::{Direction, Row};
use crate::rig::{KIB, MIB, Random, Rig, SMALL, Word, p50};

/// The way in which the copies of a burst keep bulk off.
struct Way<'a> {
    rig: &'a Rig,
    method: &'a str,
    direction: Direction,
    stream: Stream,
    word: Word,
    channel: Stream,
    events: (Event, Event),
}

impl Way<'_> {
    fn before_all(&self) {
        match self.method {
            "hold" | "raise per copy" => self.word.store(1),
            "one bracket" => self.rig.write(self.stream, self.word.address(), 1),
            _ => {}
        }
    }

    fn copy(&self, offset: u64) {
        let (rig, word) = (self.rig, self.word);
        match self.method {
            "bracket through a channel" => return self.copy_through_channel(offset),
            "bracket per copy" => rig.write(self.stream, word.address(), 1),
            "raise per copy" => word.store(1),
            _ => {}
        }
        rig.copy(self.direction, rig.small, offset, SMALL, self.stream);
        if matches!(self.method, "bracket per copy" | "raise per copy") {
            rig.write(self.stream, word.address(), 0);
        }
    }

    /// One copy on the channel in a bracket of writes, joined to its stream by two events.
    fn copy_through_channel(&self, offset: u64) {
        let (rig, user, channel, (before, after)) = (self.rig, self.stream, self.channel, self.events);
        rig.driver.event_record(before, user).unwrap();
        rig.driver.stream_wait_event(channel, before).unwrap();
        rig.write(channel, self.word.address(), 1);
        rig.copy(self.direction, rig.small, offset, SMALL, channel);
        rig.write(channel, self.word.address(), 0);
        rig.driver.event_record(after, channel).unwrap();
        rig.driver.stream_wait_event(user, after).unwrap();
    }

    /// Behind the last copy, before the completion word.
    fn behind_all(&self) {
        if self.method == "one bracket" {
            self.rig.write(self.stream, self.word.address(), 0);
        }
    }
}

pub fn burst(row: &Row) -> Figures {
    let rig = Rig::new(Connections::default());
    let (low, high) = (rig.stream(0), rig.stream(rig.driver.priority_range().unwrap().greatest));
    let (channel, events) = (rig.stream(0), (rig.event(), rig.event()));
    let (word, flag, direction) = (rig.word(1), rig.word(0), row.direction);
    let chunk = if row.chunk_kib == 0 { 2 * MIB } else { row.chunk_kib * KIB };
    let method = row.method.as_str();
    let way = Way { rig: &rig, method, direction, stream: high, word, channel, events };
    let feeder = (method != "idle").then(|| Feeder::gated(&rig, low, direction, chunk, word));
    rig.sleep_us(40_000);
    let fed = |feeder: &Option<Feeder>| feeder.as_ref().map_or(0, Feeder::bytes);
    let mut random = Random::new(3);
    let mut samples = Vec::new();
    let (started_us, before) = (rig.now_us(), fed(&feeder));
    for index in 1..=100 {
        let begin_us = rig.now_us();
        way.before_all();
        (0..64).for_each(|copy| way.copy(copy * SMALL));
        way.behind_all();
        rig.write(high, flag.address(), index);
        rig.spin(flag, index);
        if method == "hold" {
            word.store(0);
        }
        samples.push(rig.now_us() - begin_us);
        rig.sleep_us(2_000 + u64::from(random.below(1_000)));
    }
    let span_us = rig.now_us() - started_us;
    let bulk = fed(&feeder) - before;
    if let Some(feeder) = feeder {
        feeder.finish(&rig);
    }
    Figures { p50_us: Some(p50(samples)), bulk_gbps: Some(bulk as f64 / span_us / 1e3) }
}
