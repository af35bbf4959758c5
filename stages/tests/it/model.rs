//! Random calls of several members beside a model that keeps every commit and release of every member.

use std::collections::BTreeMap;
use std::sync::Arc;

use overtake_stages::{Arrival, Error, Member, Refused, Ring, Role, Stage};
use proptest::prelude::*;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Done {
    Well,
    Failed,
    Owed,
}

#[derive(Clone, Copy, Debug)]
enum Call {
    Acquire,
    Commit(Done),
    Wait,
    Release(Done),
    Quit,
}

/// A member, and all that it has ever done.
#[derive(Debug)]
struct Past {
    role: Role,
    head: u64,
    tail: u64,
    acquired: bool,
    waited: bool,
    quit: bool,
    told: bool,
    commits: BTreeMap<u64, Done>,
    releases: BTreeMap<u64, Done>,
}

#[derive(Debug, PartialEq, Eq)]
enum Look {
    Open,
    Over(bool),
    Deserted,
}

struct Model {
    stages: u64,
    members: Vec<Past>,
}

impl Model {
    fn new(stages: u8, roles: &[Role]) -> Model {
        let past = |role: &Role| Past {
            role: *role,
            head: 0,
            tail: 0,
            acquired: false,
            waited: false,
            quit: false,
            told: false,
            commits: BTreeMap::new(),
            releases: BTreeMap::new(),
        };
        Model { stages: u64::from(stages), members: roles.iter().map(past).collect() }
    }

    /// A position on one side.
    fn look(&self, position: u64, is_produced: bool) -> Look {
        let mut done = Vec::new();
        for member in &self.members {
            let (takes_part, at, all) = if is_produced {
                (member.role.produces(), member.head, &member.commits)
            } else {
                (member.role.consumes(), member.tail, &member.releases)
            };
            match all.get(&position) {
                _ if !takes_part => {}
                Some(Done::Owed) => return Look::Open,
                Some(how) => done.push(*how),
                None if member.quit && at <= position => {}
                None => return Look::Open,
            }
        }
        if done.is_empty() { Look::Deserted } else { Look::Over(done.contains(&Done::Failed)) }
    }

    fn stage(&self, position: u64) -> Stage {
        Stage { index: (position % self.stages) as u8, position }
    }

    fn acquire(&mut self, index: usize) -> Result<Option<Stage>, Error> {
        let Past { role, head, tail, acquired, quit, told, .. } = self.members[index];
        let refused = |refused: Refused| Err(Error::Refused(refused));
        match () {
            () if quit => return refused(Refused::Quit),
            () if !role.produces() => return refused(Refused::NotProducer),
            () if acquired => return refused(Refused::Acquired),
            () if role == Role::Both && head - tail == self.stages => return refused(Refused::OwnRelease),
            () if self.members.iter().all(|member| member.quit || !member.role.consumes()) => {
                return Err(Error::Deserted);
            }
            () => {}
        }
        if let Some(before) = head.checked_sub(self.stages) {
            match self.look(before, false) {
                Look::Open => return Ok(None),
                Look::Over(true) if !told => {
                    self.members[index].told = true;
                    return Err(Error::Spoilt { position: before });
                }
                Look::Over(_) => {}
                Look::Deserted => unreachable!("a consumer is left, and one has released it"),
            }
        }
        self.members[index].acquired = true;
        Ok(Some(self.stage(head)))
    }

    fn commit(&mut self, index: usize, how: Done) -> Result<(), Refused> {
        let member = &mut self.members[index];
        match () {
            () if member.quit => Err(Refused::Quit),
            () if !member.role.produces() => Err(Refused::NotProducer),
            () if !member.acquired => Err(Refused::NotAcquired),
            () => {
                member.commits.insert(member.head, how);
                member.head += 1;
                (member.acquired, member.told) = (false, false);
                Ok(())
            }
        }
    }

    fn wait(&mut self, index: usize) -> Result<Option<Stage>, Error> {
        let Past { role, head, tail, waited, quit, .. } = self.members[index];
        match () {
            () if quit => return Err(Refused::Quit.into()),
            () if !role.consumes() => return Err(Refused::NotConsumer.into()),
            () if waited => return Err(Refused::Waited.into()),
            () if role == Role::Both && head == tail => return Err(Refused::OwnCommit.into()),
            () => {}
        }
        let look = self.look(tail, true);
        self.members[index].waited = matches!(look, Look::Over(_));
        match look {
            Look::Open => Ok(None),
            Look::Deserted => Err(Error::Deserted),
            Look::Over(false) => Ok(Some(self.stage(tail))),
            Look::Over(true) => {
                self.release(index, Done::Well).unwrap();
                Err(Error::Spoilt { position: tail })
            }
        }
    }

    fn release(&mut self, index: usize, how: Done) -> Result<(), Refused> {
        let member = &mut self.members[index];
        match () {
            () if member.quit => Err(Refused::Quit),
            () if !member.role.consumes() => Err(Refused::NotConsumer),
            () if !member.waited => Err(Refused::NotWaited),
            () => {
                member.releases.insert(member.tail, how);
                member.tail += 1;
                member.waited = false;
                Ok(())
            }
        }
    }

    /// Whether the ring is free after this.
    fn quit(&mut self, index: usize) -> Result<bool, Refused> {
        if self.members[index].quit {
            return Err(Refused::Quit);
        }
        self.members[index].quit = true;
        let owes =
            |member: &Past| member.commits.values().chain(member.releases.values()).any(|how| *how == Done::Owed);
        Ok(self.members.iter().all(|member| member.quit && !owes(member)))
    }
}

/// An arrival that is owed, and its place in the model.
struct Owed {
    arrival: Arrival,
    member: usize,
    position: u64,
    is_commit: bool,
}

/// The members, beside their model.
struct Both {
    ring: Arc<Ring>,
    members: Vec<Member>,
    model: Model,
    owed: Vec<Owed>,
}

impl Both {
    fn call(&mut self, index: usize, call: Call) {
        let (member, model) = (&mut self.members[index], &mut self.model);
        let (head, tail) = (model.members[index].head, model.members[index].tail);
        match call {
            Call::Acquire => assert_eq!(member.try_acquire(), model.acquire(index)),
            Call::Wait => assert_eq!(member.try_wait(), model.wait(index)),
            Call::Quit => assert_eq!(member.quit(), model.quit(index)),
            Call::Commit(how) => {
                let done = match how {
                    Done::Well => member.commit(),
                    Done::Failed => member.commit_failed(),
                    Done::Owed => member.commit_later().map(|arrival| {
                        self.owed.push(Owed { arrival, member: index, position: head, is_commit: true });
                    }),
                };
                assert_eq!(done, model.commit(index, how));
            }
            Call::Release(how) => {
                let done = match how {
                    Done::Well => member.release(),
                    Done::Failed => member.release_failed(),
                    Done::Owed => member.release_later().map(|arrival| {
                        self.owed.push(Owed { arrival, member: index, position: tail, is_commit: false });
                    }),
                };
                assert_eq!(done, model.release(index, how));
            }
        }
    }

    /// An arrival comes that is owed, if any is.
    fn settle(&mut self, choice: usize, is_well: bool) {
        if self.owed.is_empty() {
            return;
        }
        let Owed { arrival, member, position, is_commit } = self.owed.swap_remove(choice % self.owed.len());
        let past = &mut self.model.members[member];
        let all = if is_commit { &mut past.commits } else { &mut past.releases };
        all.insert(position, if is_well { Done::Well } else { Done::Failed });
        if is_well { arrival.arrive() } else { drop(arrival) }
    }
}

fn role() -> impl Strategy<Value = Role> {
    prop_oneof![Just(Role::Producer), Just(Role::Consumer), Just(Role::Both)]
}

fn call() -> impl Strategy<Value = Call> {
    let done = || prop_oneof![6 => Just(Done::Well), 1 => Just(Done::Failed), 2 => Just(Done::Owed)];
    prop_oneof![
        10 => Just(Call::Acquire),
        10 => done().prop_map(Call::Commit),
        10 => Just(Call::Wait),
        10 => done().prop_map(Call::Release),
        1 => Just(Call::Quit),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn members_answer_as_the_model_does(
        stages in 1..5_u8,
        roles in prop::collection::vec(role(), 1..5),
        calls in prop::collection::vec((any::<usize>(), call(), any::<bool>()), 1..160),
    ) {
        let ring = Ring::new(stages).unwrap();
        let has = |part: fn(Role) -> bool| roles.iter().any(|role| part(*role));
        let members = ring.members(&roles);
        prop_assert_eq!(members.is_ok(), has(Role::produces) && has(Role::consumes));
        let Ok(members) = members else { return Ok(()) };
        let mut both = Both { ring, members, model: Model::new(stages, &roles), owed: Vec::new() };
        for (choice, call, settles) in calls {
            both.call(choice % roles.len(), call);
            if settles {
                both.settle(choice / 7, choice % 8 != 0);
            }
        }
        // It is in use until all have quit and all arrivals have come, and can be used again then.
        both.members.clear();
        prop_assert_eq!(both.ring.members(&roles).is_ok(), both.owed.is_empty());
        both.owed.clear();
        prop_assert!(both.ring.members(&roles).is_ok());
    }
}
