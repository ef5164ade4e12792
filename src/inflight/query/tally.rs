//! What a poll remembers of the series a selector matched: not the series, only what the
//! aggregations need, so that memory does not grow with them.

/// The running aggregates of one selector's series.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    count: u64,
    sum: f64,
    /// What rounding took from the sum so far (Neumaier's summation, which Prometheus' own `sum` uses).
    lost: f64,
    min: f64,
    max: f64,
    nan: bool,
    only_rises: bool,
    fault: Option<String>,
}

impl Tally {
    /// Adds the value of one more series.
    pub fn add(&mut self, value: f64) {
        let total = self.sum + value;
        if total.is_infinite() {
            self.lost = 0.0;
        } else if self.sum.abs() >= value.abs() {
            self.lost += (self.sum - total) + value;
        } else {
            self.lost += (value - total) + self.sum;
        }
        self.sum = total;
        self.min = if self.count == 0 {
            value
        } else {
            self.min.min(value)
        };
        self.max = if self.count == 0 {
            value
        } else {
            self.max.max(value)
        };
        self.nan |= value.is_nan();
        self.count += 1;
    }

    /// Records that the page declares these series to be counters.
    pub fn only_rises(&mut self) {
        self.only_rises = true;
    }

    /// Whether the page declared them so.
    pub fn is_counter(&self) -> bool {
        self.only_rises
    }

    /// Records why the tally cannot be trusted. The first reason stays.
    pub fn spoil(&mut self, why: impl FnOnce() -> String) {
        self.fault.get_or_insert_with(why);
    }

    /// Why it cannot be trusted, if so.
    pub fn fault(&self) -> Option<&str> {
        self.fault.as_deref()
    }

    /// How many series matched.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Their sum; 0 of none.
    pub fn sum(&self) -> f64 {
        if self.sum.is_finite() {
            self.sum + self.lost
        } else {
            self.sum
        }
    }

    /// The least value; NaN when any is (PromQL passes over NaN, but a series that is not a
    /// number makes the number of calls unknown).
    pub fn min(&self) -> f64 {
        if self.nan { f64::NAN } else { self.min }
    }

    /// The greatest value; NaN when any is.
    pub fn max(&self) -> f64 {
        if self.nan { f64::NAN } else { self.max }
    }

    /// The mean; 0 of none.
    pub fn avg(&self) -> f64 {
        if self.count == 0 {
            0.0
        } else {
            self.sum() / self.count as f64
        }
    }
}
