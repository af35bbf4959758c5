//! Both ends of a feed as futures.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use overtake::hal::Driver;
use overtake::pipeline::{Error, FeedResults};

use super::{Bed, SPAN, check, commit, fill, is_soft, options};

/// Polls both futures whenever one is woken, and sleeps in the host's time meanwhile.
fn both<A, B>(driver: &dyn Driver, one: impl Future<Output = A>, other: impl Future<Output = B>) -> (A, B) {
    let (woken, mut one, mut other) = (Arc::new(Woken(AtomicBool::new(true))), pin!(one), pin!(other));
    let (waker, mut ended) = (Waker::from(Arc::clone(&woken)), (None, None));
    loop {
        driver.host().wait_until(None, &mut || woken.0.swap(false, Ordering::AcqRel));
        let context = &mut Context::from_waker(&waker);
        if ended.0.is_none()
            && let Poll::Ready(value) = one.as_mut().poll(context)
        {
            ended.0 = Some(value);
        }
        if ended.1.is_none()
            && let Poll::Ready(value) = other.as_mut().poll(context)
        {
            ended.1 = Some(value);
        }
        match ended {
            (Some(one), Some(other)) => return (one, other),
            unfinished => ended = unfinished,
        }
    }
}

struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Release);
    }
}

#[test]
fn one_thread_has_both_ends_as_futures() {
    const FRAMES: u64 = 12;
    let bed = Bed::new();
    for stages in [1, 2] {
        let (mut feeder, mut results, kernel) = bed.start(options(stages)).unwrap();
        let camera = async move {
            for number in 0..FRAMES {
                assert_eq!(commit(feeder.acquire_async().await.unwrap()).unwrap(), number);
            }
            feeder.close().unwrap();
        };
        let viewer = async move {
            for number in 0.. {
                match results.wait_async().await {
                    Ok(result) => {
                        check(&result);
                        assert_eq!(result.number(), number);
                    }
                    Err(Error::Ended) => return number,
                    Err(error) => panic!("{error}"),
                }
            }
            unreachable!("it ends");
        };
        assert_eq!(both(&*bed.driver, camera, viewer), ((), FRAMES), "{stages} stages");
        kernel.wait().unwrap();
    }
}

#[test]
fn a_future_may_be_dropped_and_hears_of_the_end() {
    let bed = Bed::new();
    let (mut feeder, mut results, kernel) = bed.start(options(1)).unwrap();
    let woken = Arc::new(Woken(AtomicBool::new(false)));
    let poll = |results: &mut FeedResults| {
        let is_pending = {
            let mut result = pin!(results.wait_async());
            result.as_mut().poll(&mut Context::from_waker(&Waker::from(Arc::clone(&woken)))).is_pending()
        };
        assert_eq!(Arc::strong_count(&woken), 1, "nothing keeps the waker of a future that is gone");
        is_pending
    };
    assert!(poll(&mut results), "there is none");
    assert!(results.wait_for(SPAN.into()).unwrap().is_none());
    assert!(poll(&mut results), "there is none");
    fill(&mut feeder).unwrap();
    check(&results.wait().unwrap());
    let ended = both(&*bed.driver, async { results.wait_async().await.map(drop) }, async { kernel.end() }).0;
    assert!(matches!(ended, Err(Error::Ended)), "{ended:?}");
    let acquired = both(&*bed.driver, async { feeder.acquire_async().await.map(drop) }, async {}).0;
    assert!(matches!(acquired, Err(Error::Ended)), "{acquired:?}");
}

/// A wait for a feed that will never change is an error of that wait, and of no future that is gone.
#[test]
fn a_dropped_future_waits_no_more() {
    if !is_soft() {
        return;
    }
    let bed = Bed::new();
    let (_feeder, mut results, _kernel) = bed.start(options(1)).unwrap();
    for _ in 0..2 {
        {
            let mut result = pin!(results.wait_async());
            assert!(result.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending(), "there is none");
            bed.driver.host().sleep(SPAN);
        }
        let waited = results.wait().map(drop);
        assert!(matches!(waited, Err(Error::Stuck)), "{waited:?}");
        bed.driver.host().sleep(SPAN); // all threads are told
    }
}
