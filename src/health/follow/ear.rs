//! Takes in what was heard of the app and what was lost, and passes on what it comes to.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio::sync::Notify;
use tonic::{Code, Status};
use tracing::{info, warn};

use super::App;
use super::book::{Book, News, Said};
use crate::drain::budget::Seconds;
use crate::health::bench::Bench;

/// Letters of an error message of the app's that are passed on at most.
const MAX_WORDS: usize = 120;

/// Who listens to the app.
pub(super) struct Ear {
    app: App,
    bench: Arc<Bench>,
    heard: Mutex<Heard>,
    /// The hold's end may have moved.
    moved: Notify,
}

struct Heard {
    book: Book,
    contact: Contact,
}

/// For the log: a line when it changes, and none while an app comes and goes within a try.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Contact {
    /// Asked for the first time.
    Sought,
    /// It has not answered yet, which was said.
    Awaited,
    Known,
    Lost,
}

impl Ear {
    pub(super) fn new(app: App, bench: Arc<Bench>) -> Self {
        let heard = Heard {
            book: Book::new(bench.names(), app.hold_on_disconnect),
            contact: Contact::Sought,
        };
        Self {
            app,
            bench,
            heard: Mutex::new(heard),
            moved: Notify::new(),
        }
    }

    /// The names to ask for.
    pub(super) fn asked(&self) -> Vec<String> {
        self.heard().book.asked()
    }

    /// The app said `said` of `name`.
    pub(super) fn hears(&self, name: &str, said: Said) -> News {
        let mut heard = self.heard();
        let news = heard.book.heard(name, said);
        if heard.contact != Contact::Known && heard.book.is_complete() {
            heard.contact = Contact::Known;
            info!(target: "health", "the app's health at {} answers", self.app.grpc);
        }
        if news == News::Changed {
            self.bench.app_says(heard.book.ruling(), Instant::now());
        }
        news
    }

    /// Nothing is heard of `name` any more.
    pub(super) fn loses(&self, name: &str, why: &Status) {
        let now = Instant::now();
        let mut heard = self.heard();
        heard.book.lost(name, words(why), now);
        self.lament(heard, why, now);
    }

    /// Nothing is heard of any name any more.
    pub(super) fn loses_all(&self, why: &Status) {
        let now = Instant::now();
        let mut heard = self.heard();
        heard.book.lost_all(words(why), now);
        self.lament(heard, why, now);
    }

    fn lament(&self, mut heard: MutexGuard<'_, Heard>, why: &Status, now: Instant) {
        let place = &self.app.grpc;
        match heard.contact {
            Contact::Sought => {
                heard.contact = Contact::Awaited;
                info!(target: "health", "the app's health at {place} does not answer yet: {}", words(why));
            }
            Contact::Known => {
                heard.contact = Contact::Lost;
                warn!(
                    target: "health",
                    "the app's health at {place} is lost: {}; its last state holds for {}",
                    words(why), Seconds(self.app.hold_on_disconnect)
                );
            }
            Contact::Awaited | Contact::Lost => {}
        }
        self.bench.app_says(heard.book.ruling(), now);
        drop(heard);
        self.moved.notify_one();
    }

    /// Ends each hold when its time is up. It has no end of its own.
    pub(super) async fn keep_the_hold(&self) {
        loop {
            let next = self.heard().book.next_expiry();
            let over = async {
                match next {
                    Some(next) => tokio::time::sleep_until(next.into()).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = over => self.expire(),
                () = self.moved.notified() => {}
            }
        }
    }

    fn expire(&self) {
        let now = Instant::now();
        let mut heard = self.heard();
        if heard.book.expire(now) == News::Changed {
            warn!(
                target: "health",
                "the app's health at {} has been gone for {}: UNKNOWN",
                self.app.grpc, Seconds(self.app.hold_on_disconnect)
            );
            self.bench.app_says(heard.book.ruling(), now);
        }
    }

    /// A panic while the book was open ends the process (panic = abort), so poison is not met.
    fn heard(&self) -> MutexGuard<'_, Heard> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Why, in a few words: an app's message may be long, and may hold line ends.
pub(in crate::health) fn words(why: &Status) -> String {
    let message: String = why
        .message()
        .chars()
        .map(|letter| if letter.is_control() { ' ' } else { letter })
        .take(MAX_WORDS)
        .collect();
    match (why.code(), message.is_empty()) {
        // Most of these are our own words for a connection.
        (Code::Unavailable | Code::Ok, false) => message,
        (code, true) => format!("{code:?}"),
        (code, false) => format!("{code:?}: {message}"),
    }
}
