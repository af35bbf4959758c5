//! The sets of a dispatcher, by number. A task has the number of its set: counting the tasks of a set through a
//! reference would cost as much as a tenth of a task, and more if threads share a set.

use std::sync::Arc;

use crate::work::set::{Set, SetId};

/// All sets. They are changed with the dispatcher's lock held.
#[derive(Debug, Default)]
pub(crate) struct Sets {
    all: Vec<Option<Member>>,
}

#[derive(Debug)]
struct Member {
    set: Arc<Set>,
    /// A caller may submit tasks to it.
    is_held: bool,
}

impl Sets {
    /// A new set.
    pub fn add(&mut self, name: &str) -> Arc<Set> {
        let index = self.all.iter().position(Option::is_none).unwrap_or(self.all.len());
        let set = Arc::new(Set::new(name, SetId::new(index)));
        let member = Some(Member { set: Arc::clone(&set), is_held: true });
        match self.all.get_mut(index) {
            Some(free) => *free = member,
            None => self.all.push(member),
        }
        set
    }

    /// The set of a task that has not ended.
    #[inline]
    pub fn get(&self, id: SetId) -> Option<&Set> {
        Some(&*self.all.get(id.index())?.as_ref()?.set)
    }

    /// Those that there are.
    pub fn all(&self) -> impl Iterator<Item = &Arc<Set>> {
        self.all.iter().flatten().map(|member| &member.set)
    }

    /// No further task is submitted to the set.
    pub fn let_go(&mut self, id: SetId) {
        if let Some(Some(member)) = self.all.get_mut(id.index()) {
            member.is_held = false;
        }
        self.forget(id);
    }

    /// So many tasks of the set have ended. A thread that finds the set idle finds all outcomes.
    #[inline]
    pub fn ended(&mut self, id: SetId, count: u64) {
        let Some(Some(Member { set, is_held })) = self.all.get(id.index()) else { return };
        set.ended(count);
        if !is_held {
            self.forget(id);
        }
    }

    #[cold]
    fn forget(&mut self, id: SetId) {
        if let Some(place) = self.all.get_mut(id.index())
            && place.as_ref().is_some_and(|member| !member.is_held && member.set.is_idle())
        {
            *place = None;
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_used_again_when_its_set_is_idle_and_not_held() {
        let mut sets = Sets::default();
        let [one, other] = ["one", "other"].map(|name| sets.add(name));
        assert_ne!(one.id(), other.id());
        one.begun();
        sets.let_go(one.id());
        assert_eq!(sets.get(one.id()).map(|set| set.name_of("task")), Some("one/task".to_owned()));
        assert_eq!(sets.add("third").id(), SetId::new(2), "a task of the first has not ended");
        sets.ended(one.id(), 1);
        assert!(sets.get(one.id()).is_none() && one.is_idle());
        assert_eq!(sets.add("fourth").id(), one.id());
        sets.let_go(other.id());
        assert!(sets.get(other.id()).is_none() && sets.get(SetId::NONE).is_none());
    }
}
