//! The child: its start, its signals, its end.
