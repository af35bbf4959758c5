//! An end of a pipeline: the calls that wait for a free stage, and for a frame.

use std::sync::Arc;

use hal::Nanos;
use stages::{Admitted, Member, Stage};

use crate::book::Side;
use crate::fault::Error;
use crate::filled::{Claimed, Filled};
use crate::filling::Filling;
use crate::here::Here;
use crate::options::Behind;
use crate::seat::Seat;
use crate::shared::Shared;

/// A member of the ring, in a pipeline.
pub(crate) struct PipelineEnd<B> {
    // First: it quits before the frames that end with that are counted.
    pub seat: Seat,
    pub shared: Arc<Shared<B>>,
    /// The stage that the consumer has come to. Its frame may still be replaced until it is admitted.
    came_to: Option<Stage>,
    _settling: Settling<B>,
}

/// Frames may end when a member has quit.
struct Settling<B>(Arc<Shared<B>>);

impl<B> Drop for Settling<B> {
    fn drop(&mut self) {
        if self.0.may_enter().is_ok() {
            self.0.settle();
        }
    }
}

impl<B> Drop for PipelineEnd<B> {
    fn drop(&mut self) {
        if self.shared.may_enter().is_err() {
            // The peers and the buffers are the parent's.
            self.seat.member.forsake();
            std::mem::forget((self.seat.admitted.take(), Arc::clone(&self.shared)));
        }
    }
}

impl<B: Send + Sync + 'static> PipelineEnd<B> {
    pub fn new(shared: &Arc<Shared<B>>, member: Member) -> PipelineEnd<B> {
        let seat = Seat::new(member, shared.options.admission.as_deref());
        PipelineEnd { seat, shared: Arc::clone(shared), came_to: None, _settling: Settling(Arc::clone(shared)) }
    }

    pub fn acquire<S>(&mut self) -> Result<Option<Filling<'_, B, S>>, Error> {
        let mut stage = self.free()?;
        if stage.is_none() && self.shared.options.behind == Behind::Block {
            let PipelineEnd { shared, seat, .. } = self;
            stage = Some(shared.wait(Side::Consumer, |waiting| seat.member.acquire(waiting))?);
        }
        Ok(self.begin(stage))
    }

    pub fn try_acquire<S>(&mut self) -> Result<Option<Filling<'_, B, S>>, Error> {
        match self.free()? {
            None if self.shared.options.behind == Behind::Block => Ok(None),
            stage => Ok(self.begin(stage)),
        }
    }

    pub fn acquire_until<S>(&mut self, deadline: Nanos) -> Result<Option<Filling<'_, B, S>>, Error> {
        let mut stage = self.free()?;
        if stage.is_none() && self.shared.options.behind == Behind::Block {
            let PipelineEnd { shared, seat, .. } = self;
            stage = shared.wait(Side::Consumer, |waiting| seat.member.acquire_until(waiting, deadline.0))?;
            if stage.is_none() {
                return Ok(None);
            }
        }
        Ok(self.begin(stage))
    }

    pub async fn acquire_async<S>(&mut self) -> Result<Option<Filling<'_, B, S>>, Error> {
        self.shared.may_enter()?;
        if self.shared.options.behind == Behind::Block && self.seat.member.acquired().is_none() {
            let acquired = Here::new(&self.shared, self.seat.member.acquire_async()).await?;
            acquired.map_err(|error| self.shared.error(error, Side::Consumer))?;
        }
        let stage = self.free()?;
        Ok(self.begin(stage))
    }

    /// The next stage if it is free. One that was acquired for a frame that was given up is still there.
    fn free(&mut self) -> Result<Option<Stage>, Error> {
        self.shared.may_enter()?;
        if let Some(stage) = self.seat.member.acquired() {
            return Ok(Some(stage));
        }
        self.seat.member.try_acquire().map_err(|error| self.shared.error(error, Side::Consumer))
    }

    fn begin<S>(&mut self, stage: Option<Stage>) -> Option<Filling<'_, B, S>> {
        let now = self.shared.now();
        let PipelineEnd { shared, seat, .. } = self;
        let (buffer, number) = match stage {
            None if !shared.options.behind.replaces() => {
                shared.book(|book| book.refuse(now));
                return None;
            }
            Some(stage) if shared.has_many => {
                // The tasks of the frame before are dropped without the lock.
                let (buffer, number, _before) = shared.book(|book| book.join(stage, now));
                (buffer, number)
            }
            stage => shared.book(|book| book.begin(stage.map(|stage| stage.index), now)),
        };
        Some(Filling::new(shared, &mut seat.member, stage, (buffer, number)))
    }

    pub fn wait<S>(&mut self) -> Result<Filled<'_, B, S>, Error> {
        if let Some(claimed) = self.look()? {
            return Ok(self.filled(claimed));
        }
        let claimed = self.awaited(None)?.expect("a wait without a deadline ends with a frame");
        Ok(self.filled(claimed))
    }

    pub fn try_wait<S>(&mut self) -> Result<Option<Filled<'_, B, S>>, Error> {
        Ok(self.look()?.map(|claimed| self.filled(claimed)))
    }

    pub fn wait_until<S>(&mut self, deadline: Nanos) -> Result<Option<Filled<'_, B, S>>, Error> {
        Ok(self.awaited(Some(deadline))?.map(|claimed| self.filled(claimed)))
    }

    pub async fn wait_async<S>(&mut self) -> Result<Filled<'_, B, S>, Error> {
        let claimed = loop {
            if let Some(claimed) = self.look()? {
                break claimed;
            }
            let stage = match self.came_to {
                Some(stage) => stage,
                None => {
                    let stage = Here::new(&self.shared, self.seat.member.wait_async()).await?;
                    stage.map_err(|error| self.shared.error(error, Side::Producer))?
                }
            };
            let admitted = match self.shared.ask(self.seat.last) {
                Some(admitting) => {
                    self.came_to = Some(stage);
                    Some(Here::new(&self.shared, admitting).await?)
                }
                None => None,
            };
            if let Some(claimed) = self.claim_admitted(stage, admitted)? {
                break claimed;
            }
        };
        Ok(self.filled(claimed))
    }

    /// Waits for the next frame that is not dropped. `None` if the deadline passes first.
    fn awaited(&mut self, deadline: Option<Nanos>) -> Result<Option<Claimed>, Error> {
        loop {
            if let Some(claimed) = self.look()? {
                return Ok(Some(claimed));
            }
            let Some(stage) = self.come(deadline)? else { return Ok(None) };
            let admitted = match self.shared.ask(self.seat.last) {
                Some(admitting) => {
                    self.came_to = Some(stage);
                    let until_ns = deadline.map(|deadline| deadline.0);
                    match self.shared.wait(Side::Producer, |waiting| admitting.wait(waiting, until_ns))? {
                        None => return Ok(None),
                        admitted => admitted,
                    }
                }
                None => None,
            };
            if let Some(claimed) = self.claim_admitted(stage, admitted)? {
                return Ok(Some(claimed));
            }
        }
    }

    /// The next frame that is not dropped, if it is there and may be admitted at once.
    fn look(&mut self) -> Result<Option<Claimed>, Error> {
        self.shared.may_enter()?;
        if self.shared.options.admission.is_some() {
            return self.look_with_admission();
        }
        match self.next_there()? {
            Some(stage) => self.claim_from(stage),
            None => Ok(None),
        }
    }

    #[inline(never)] // pipelines without an admission would carry it with them
    fn look_with_admission(&mut self) -> Result<Option<Claimed>, Error> {
        if self.came_to.is_none() {
            self.came_to = self.next_there()?;
        }
        let Some(stage) = self.came_to else { return Ok(None) };
        match self.shared.try_admit() {
            None => Ok(None),
            admitted => self.claim_admitted(stage, admitted),
        }
    }

    /// Waits until the consumer has come to a stage. `None` if the deadline passes first.
    fn come(&mut self, deadline: Option<Nanos>) -> Result<Option<Stage>, Error> {
        let PipelineEnd { shared, seat, came_to, .. } = self;
        if came_to.is_some() {
            return Ok(*came_to);
        }
        shared.wait(Side::Producer, |waiting| match deadline {
            Some(deadline) => seat.member.wait_until(waiting, deadline.0),
            None => seat.member.wait(waiting).map(Some),
        })
    }

    #[inline]
    fn next_there(&mut self) -> Result<Option<Stage>, Error> {
        self.seat.member.try_wait().map_err(|error| self.shared.error(error, Side::Producer))
    }

    /// The first frame that is not dropped, from this stage on, if it is there. The stages of the others are released.
    #[inline]
    fn claim_from(&mut self, first: Stage) -> Result<Option<Claimed>, Error> {
        let mut stage = first;
        loop {
            let now = self.shared.now();
            if let Some((buffer, number, before)) = self.shared.book(|book| book.claim(stage, now)) {
                return Ok(Some(Claimed { stage, buffer, number, before }));
            }
            self.seat.member.release()?;
            match self.next_there()? {
                Some(next) => stage = next,
                None => return Ok(None),
            }
        }
    }

    /// The same for a consumer that has come to this stage. The place is that of the frame.
    fn claim_admitted(&mut self, stage: Stage, admitted: Option<Admitted>) -> Result<Option<Claimed>, Error> {
        self.came_to = None;
        let claimed = self.claim_from(stage)?;
        self.seat.admitted = admitted.filter(|_| claimed.is_some());
        // A place that found only frames to pass over does not count.
        if let Some(admitted) = &self.seat.admitted {
            self.seat.last = admitted.number();
        }
        Ok(claimed)
    }

    fn filled<S>(&mut self, claimed: Claimed) -> Filled<'_, B, S> {
        Filled::new(&self.shared, &mut self.seat, claimed)
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;
    use std::pin::{Pin, pin};
    use std::sync::Barrier;
    use std::task::{Context, Poll, Wake, Waker};

    use copies::{Options, Overtake};
    use overtake_tasks::dispatch::{DispatchOptions, Dispatcher};
    use overtake_tasks::task::{self, Tasks};
    use stages::{Admission, Ring, Role};
    use testkit::fixture::failure::{Outcome, ensure};
    use testkit::fixture::forks::in_child;

    use super::*;
    use crate::monitor::Pipeline;
    use crate::options::PipelineOptions;
    use crate::owed::Owed;
    use crate::record::PipelineStatistics;
    use crate::sharing::Alone;

    type End = PipelineEnd<u32>;

    const PLACES: NonZeroU32 = NonZeroU32::new(4).expect("it is not 0");

    /// A pipeline with one frame that is there, and its ends.
    fn opened(tasks: &Tasks, admission: &Arc<Admission>, has_many: bool) -> (Arc<Shared<u32>>, End, End) {
        let admission = (!has_many).then(|| Arc::clone(admission));
        let options = PipelineOptions { admission, ..PipelineOptions::default() };
        let ring = Ring::new(options.stages).unwrap();
        let shared = Shared::new(tasks, options, vec![0; 4], Arc::clone(&ring), has_many).unwrap();
        let shared = Arc::new(shared);
        let ends = ring.members(&[Role::Producer, Role::Consumer]).unwrap().into_iter();
        let [mut producer, consumer] =
            <[End; 2]>::try_from(ends.map(|end| End::new(&shared, end)).collect::<Vec<_>>()).ok().unwrap();
        producer.acquire::<Alone>().unwrap().unwrap().commit().unwrap();
        (shared, producer, consumer)
    }

    /// Every call that gives a frame is refused.
    fn is_refused(producer: &mut End, consumer: &mut End) -> bool {
        let mut context = Context::from_waker(Waker::noop());
        let acquired = pin!(producer.acquire_async::<Alone>()).poll(&mut context).map_ok(drop);
        let waited = pin!(consumer.wait_async::<Alone>()).poll(&mut context).map_ok(drop);
        let futures = [acquired, waited].map(|told| if let Poll::Ready(told) = told { told } else { Ok(()) });
        let told = [
            producer.acquire::<Alone>().map(drop),
            producer.try_acquire::<Alone>().map(drop),
            producer.acquire_until::<Alone>(Nanos::ZERO).map(drop),
            consumer.wait::<Alone>().map(drop),
            consumer.try_wait::<Alone>().map(drop),
            consumer.wait_until::<Alone>(Nanos::ZERO).map(drop),
        ];
        told.into_iter().chain(futures).all(|told| is_forked(&told))
    }

    fn is_forked(told: &Result<(), Error>) -> bool {
        matches!(told, Err(Error::Task(task::Error::Forked)))
    }

    type Waiting<'w> = Pin<Box<dyn Future<Output = Result<(), Error>> + 'w>>;

    fn fill(producer: &mut End) {
        while let Some(filling) = producer.try_acquire::<Alone>().unwrap() {
            filling.commit().unwrap();
        }
    }

    fn acquiring(producer: &mut End) -> Waiting<'_> {
        Box::pin(async { producer.acquire_async::<Alone>().await.map(drop) })
    }

    fn waiting(consumer: &mut End) -> Waiting<'_> {
        Box::pin(async { consumer.wait_async::<Alone>().await.map(drop) })
    }

    fn poll(waiting: &mut Waiting<'_>, waker: &Waker) -> Poll<Result<(), Error>> {
        waiting.as_mut().poll(&mut Context::from_waker(waker))
    }

    /// As a waker, of which each place in a line keeps a clone.
    struct Silent;

    impl Wake for Silent {
        fn wake(self: Arc<Silent>) {}
    }

    fn is_in_line(waiting: &mut Waiting<'_>, silent: &Arc<Silent>) -> bool {
        let before = Arc::strong_count(silent);
        let is_pending = poll(waiting, &Waker::from(Arc::clone(silent))).is_pending();
        is_pending && Arc::strong_count(silent) > before
    }

    /// The waits are refused, and go without the locks of their lines.
    fn stay_in_line(begun: Vec<Waiting<'_>>, silent: &Arc<Silent>) -> Outcome {
        let before = Arc::strong_count(silent);
        for mut waiting in begun {
            ensure!(matches!(poll(&mut waiting, Waker::noop()), Poll::Ready(told) if is_forked(&told)), "it waits on");
        }
        ensure!(Arc::strong_count(silent) == before, "a wait has left its line");
        Ok(())
    }

    /// A frame of the producer's that is due when its tasks have ended, with a place of the admission.
    fn owed(shared: &Arc<Shared<u32>>, producer: &mut End, admission: &Arc<Admission>) -> Owed<u32> {
        std::mem::forget(producer.acquire::<Alone>().unwrap());
        let (arrival, _admitted) = (Some(producer.seat.member.commit_later().unwrap()), admission.try_admit());
        let (shared, side, work) = (Arc::clone(shared), Side::Producer, Vec::new());
        Owed { shared, side, buffer: 1, position: 1, arrival, work, has_failed: false, _admitted }
    }

    /// The ends of a pipeline are refused, and go.
    fn are_left(shared: &Arc<Shared<u32>>, mut producer: End, mut consumer: End) -> Outcome {
        let (pipeline, tasks) = (Pipeline { shared: Arc::clone(shared) }, &shared.tasks);
        ensure!(pipeline.statistics() == PipelineStatistics::default(), "it counts the parent's");
        ensure!(pipeline.take_records().is_empty() && pipeline.take_record().is_none(), "it has the parent's");
        let opened = Pipeline::open(tasks, PipelineOptions::default(), |_| Ok(0)).map(drop);
        ensure!(is_forked(&opened), "it has opened one");
        ensure!(is_refused(&mut producer, &mut consumer), "there is a frame");
        let before = Arc::strong_count(shared);
        drop((producer, consumer));
        // Each end had two, of which one stays.
        ensure!(Arc::strong_count(shared) == before - 2, "the buffers may go");
        ensure!(shared.ring.members(&[Role::Producer, Role::Consumer]).is_err(), "its members have quit");
        Ok(())
    }

    /// Another thread of the parent may have held any lock.
    #[test]
    fn the_child_of_a_fork_takes_no_lock() {
        let driver: Arc<dyn hal::Driver> = Arc::new(softgpu::SoftGpu::builder().build());
        let overtake = Arc::new(Overtake::open(&driver, hal::Device(0), Options::default()).unwrap());
        let dispatcher = Dispatcher::open(&overtake, DispatchOptions::default()).unwrap();
        let (tasks, admission) = (Tasks::new(&dispatcher), Admission::new(PLACES));
        let open = |has_many| opened(&tasks, &admission, has_many);
        let [(one, mut p1, mut c1), (two, mut p2, mut c2), (three, mut p3, c3), (four, mut p4, mut c4)] =
            [(); 4].map(|()| open(false));
        let (five, p5, c5) = open(true);
        let owed = owed(&three, &mut p3, &admission);
        std::mem::forget(c4.wait::<Alone>().unwrap());
        (0..2).for_each(|_| p4.acquire::<Alone>().unwrap().unwrap().commit().unwrap());
        let mut in_hand = Some((
            (p1.acquire::<Alone>().unwrap().unwrap(), c1.wait::<Alone>().unwrap()),
            (p2.acquire::<Alone>().unwrap().unwrap(), c2.wait::<Alone>().unwrap()),
        ));
        let ((_, mut p6, _c6), (_, _p7, mut c7), (_, _p8, mut c8)) = (open(true), open(true), open(false));
        fill(&mut p6);
        c7.wait::<Alone>().unwrap().release().unwrap();
        // For a stage, for a frame, and for a place of the admission.
        let mut begun = vec![acquiring(&mut p6), waiting(&mut c7), waiting(&mut c8)];
        let silent = Arc::new(Silent);
        assert!(begun.iter_mut().all(|waiting| is_in_line(waiting, &silent)));
        let (mut all, all_shared) = (Some((owed, (p4, c4), (p5, c5))), [&one, &two, &three, &four, &five]);
        let body = || {
            let ((filling, mut filled), (mut other, released)) = in_hand.take().expect("they are there");
            let (owed, fourth, fifth) = all.take().expect("they are there");
            filled.note("child");
            other.note("child");
            other.captured_at(Nanos::ZERO);
            ensure!(is_forked(&filling.commit()) && is_forked(&released.release()), "a frame has gone");
            drop((filled, other, owed));
            stay_in_line(std::mem::take(&mut begun), &silent)?;
            are_left(&four, fourth.0, fourth.1)?;
            are_left(&five, fifth.0, fifth.1)?;
            ensure!(admission.try_admit().is_none(), "a place has been given back");
            Ok(())
        };
        let meet = Barrier::new(2);
        std::thread::scope(|scope| {
            scope.spawn(|| Shared::with_books(&all_shared, &|| (meet.wait(), meet.wait())));
            meet.wait();
            let end = in_child(body);
            meet.wait();
            end.unwrap_or_else(|failure| panic!("{failure}"));
        });
        drop(c3);
    }

    impl Shared<u32> {
        /// Runs `body` with the books of all of these.
        fn with_books<T>(all: &[&Arc<Shared<u32>>], body: &dyn Fn() -> T) -> T {
            match all {
                [] => body(),
                [first, others @ ..] => first.book(|_| Shared::with_books(others, body)),
            }
        }
    }
}
