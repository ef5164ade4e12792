//! nginx's `stub_status` page, which is four lines of its own
//! (<https://nginx.org/en/docs/http/ngx_http_stub_status_module.html>).

use std::time::Duration;

use super::sources::{Arrivals, Measured};
use super::{Reading, Unknown};
use crate::http::{Client, Endpoint};

/// The longest page that can be one, in bytes.
const LONGEST: usize = 4096;

/// A `stub_status` page, validated.
#[derive(Clone, Debug)]
pub struct StubStatusConfig {
    endpoint: Endpoint,
}

impl StubStatusConfig {
    /// A source that reads the page at `endpoint`.
    pub fn new(endpoint: Endpoint) -> Self {
        Self { endpoint }
    }

    /// Where the page is, without credentials.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }
}

/// A source at work.
pub(super) struct StubStatus {
    client: Client,
    /// How many of nginx's requests were ours.
    polls: u64,
}

/// The numbers on the page that say something of requests.
#[derive(Debug, PartialEq, Eq)]
struct Page {
    requests: u64,
    reading: u64,
    writing: u64,
}

impl StubStatus {
    pub fn new(config: StubStatusConfig) -> Self {
        Self {
            client: Client::new(config.endpoint, "text/plain, */*;q=0.1"),
            polls: 0,
        }
    }

    pub fn endpoint(&self) -> &Endpoint {
        self.client.endpoint()
    }

    pub async fn poll(&mut self, timeout: Duration) -> Measured {
        let mut body = Vec::new();
        let answer = self
            .client
            .get(timeout, |piece| {
                let room = (LONGEST + 1).saturating_sub(body.len());
                body.extend_from_slice(&piece[..piece.len().min(room)]);
            })
            .await;
        let page = match answer {
            Ok(_) => page(&body).ok_or_else(|| Unknown("the answer is no stub_status page".into())),
            Err(fault) => Err(Unknown(fault.to_string())),
        };
        match page {
            Ok(page) => self.measured(&page),
            Err(Unknown(why)) => {
                let why = Unknown(format!("{}: {why}", self.endpoint()));
                Measured {
                    arrivals: Arrivals::Unknown(why.clone()),
                    ..Measured::of(Reading::Unknown(why))
                }
            }
        }
    }

    /// The poll is itself a request: one that is being written, and one more that arrived.
    fn measured(&mut self, page: &Page) -> Measured {
        self.polls += 1;
        Measured {
            arrivals: Arrivals::Counted(page.requests as f64 - self.polls as f64),
            ..Measured::of(Reading::Count(
                (page.reading.saturating_add(page.writing)).saturating_sub(1),
            ))
        }
    }
}

fn page(body: &[u8]) -> Option<Page> {
    if body.len() > LONGEST {
        return None;
    }
    let mut words = std::str::from_utf8(body).ok()?.split_ascii_whitespace();
    let mut number = |labels: &[&str]| -> Option<u64> {
        for &label in labels {
            (words.next()? == label).then_some(())?;
        }
        words.next()?.parse().ok()
    };
    number(&["Active", "connections:"])?;
    number(&["server", "accepts", "handled", "requests"])?;
    number(&[])?;
    let requests = number(&[])?;
    let page = Page {
        requests,
        reading: number(&["Reading:"])?,
        writing: number(&["Writing:"])?,
    };
    number(&["Waiting:"])?;
    words.next().is_none().then_some(page)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PAGE: &str = "Active connections: 291 \nserver accepts handled requests\n 16630948 16630948 31070465 \nReading: 6 Writing: 179 Waiting: 106 \n";

    #[test]
    fn the_page_of_its_documentation_is_read() {
        let expected = Page {
            requests: 31_070_465,
            reading: 6,
            writing: 179,
        };
        assert_eq!(page(PAGE.as_bytes()), Some(expected));
    }

    #[test]
    fn every_cut_page_is_none() {
        // Cut within its last number, it still looks whole; its length is HTTP's to keep.
        let last = PAGE.find("106").expect("the last number");
        for end in 0..=last {
            assert_eq!(page(&PAGE.as_bytes()[..end]), None, "{end}");
        }
        assert_eq!(page(format!("{PAGE}0").as_bytes()), None);
        assert_eq!(page(format!("{PAGE}{}", " ".repeat(LONGEST)).as_bytes()), None);
    }

    proptest! {
        #[test]
        fn no_bytes_bring_it_down(body in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = page(&body);
        }
    }
}
