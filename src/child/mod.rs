//! The child: its start, its signals, its end.
/// stub until merged
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChildEnd {
    /// e
    Exited(u8),
    /// s
    Signaled {
        /// s
        signal: i32,
        /// c
        core_dumped: bool,
    },
}
impl std::fmt::Display for ChildEnd {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "x")
    }
}
/// n
pub fn signal_name(signal: i32) -> String {
    format!("{signal}")
}
