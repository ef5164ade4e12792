//! What a name can show.

/// What can be said of a name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Status {
    /// No verdict yet, or not any more.
    #[default]
    Unknown,
    /// New calls are welcome.
    Serving,
    /// New calls belong elsewhere.
    NotServing,
}

impl Status {
    /// As the gRPC health checking protocol writes it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Unknown => "UNKNOWN",
            Self::Serving => "SERVING",
            Self::NotServing => "NOT_SERVING",
        }
    }

    /// Both together: NOT_SERVING if either is, else UNKNOWN if either is.
    pub(super) fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::NotServing, _) | (_, Self::NotServing) => Self::NotServing,
            (Self::Unknown, _) | (_, Self::Unknown) => Self::Unknown,
            (Self::Serving, Self::Serving) => Self::Serving,
        }
    }
}
