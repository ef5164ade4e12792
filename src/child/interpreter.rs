//! What a file needs to be run: the interpreter of its `#!` line or its ELF loader.

use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// How many bytes of a file are looked at. The kernel reads 256 of a script (execve(2)), and
/// the program headers and the loader's name stand at the start of an ELF file.
pub(super) const ENOUGH: u64 = 64 * 1024;

/// The kernel's `BINPRM_BUF_SIZE`: a `#!` line is cut here.
const LINE_AT_MOST: usize = 256;

/// The program header type of the loader's name, elf(5).
const PT_INTERP: u64 = 3;

/// Program headers looked at; real files have a dozen.
const HEADERS_AT_MOST: u64 = 256;

/// What has to be there for a file to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Interpreter {
    /// Named by a script's first line.
    Line(PathBuf),
    /// The dynamic loader an ELF program was linked for.
    Loader(PathBuf),
    /// The file may be run but not read, so it cannot be named.
    Unnamed,
}

impl Interpreter {
    pub(super) fn path(&self) -> Option<&Path> {
        match self {
            Self::Line(path) | Self::Loader(path) => Some(path),
            Self::Unnamed => None,
        }
    }

    /// What to do when it is missing.
    pub(super) fn mend(&self) -> &'static str {
        match self {
            Self::Line(path) if path.as_os_str().as_bytes().ends_with(b"\r") => {
                "the line ends with a carriage return, so save the file with Unix line endings"
            }
            Self::Line(_) => "add it to the image, or change the line",
            Self::Loader(_) => {
                "the program was linked for another libc, so use its base image or link it statically"
            }
            Self::Unnamed => "see its #! line or, for a binary, its loader",
        }
    }
}

impl fmt::Display for Interpreter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(path) => write!(f, "the interpreter {path:?} named by its #! line"),
            Self::Loader(path) => write!(f, "the interpreter {path:?}, the loader it was linked for,"),
            Self::Unnamed => f.write_str("its interpreter"),
        }
    }
}

/// The interpreter that the file beginning with `start` asks for.
pub(super) fn of(start: &[u8]) -> Option<Interpreter> {
    let path = |bytes: &[u8]| PathBuf::from(OsStr::from_bytes(bytes));
    match start {
        [b'#', b'!', line @ ..] => script(line).map(path).map(Interpreter::Line),
        [0x7f, b'E', b'L', b'F', ..] => loader(start).map(path).map(Interpreter::Loader),
        _ => None,
    }
}

/// The first word after `#!`, spaces and tabs before it skipped, as the kernel reads it.
fn script(line: &[u8]) -> Option<&[u8]> {
    let line = &line[..line.len().min(LINE_AT_MOST - 2)];
    let line = line.split(|byte| *byte == b'\n' || *byte == 0).next()?;
    line.split(|byte| *byte == b' ' || *byte == b'\t')
        .find(|word| !word.is_empty())
}

/// The contents of the PT_INTERP segment, elf(5).
fn loader(file: &[u8]) -> Option<&[u8]> {
    let elf = Elf {
        file,
        wide: *file.get(4)? == 2,
        big_endian: *file.get(5)? == 2,
    };
    let (table, entry_size, count) = match elf.wide {
        true => (elf.number(32, 8)?, elf.number(54, 2)?, elf.number(56, 2)?),
        false => (elf.number(28, 4)?, elf.number(42, 2)?, elf.number(44, 2)?),
    };
    (0..count.min(HEADERS_AT_MOST)).find_map(|index| {
        let header = table.checked_add(index * entry_size)?;
        if elf.number(header, 4)? != PT_INTERP {
            return None;
        }
        let (offset, size) = match elf.wide {
            true => (
                elf.number(header.checked_add(8)?, 8)?,
                elf.number(header.checked_add(32)?, 8)?,
            ),
            false => (
                elf.number(header.checked_add(4)?, 4)?,
                elf.number(header.checked_add(16)?, 4)?,
            ),
        };
        elf.bytes(offset, size)?.split(|byte| *byte == 0).next()
    })
}

/// An ELF file by its offsets; nothing outside the bytes at hand is read.
struct Elf<'a> {
    file: &'a [u8],
    wide: bool,
    big_endian: bool,
}

impl<'a> Elf<'a> {
    fn bytes(&self, offset: u64, size: u64) -> Option<&'a [u8]> {
        let start = usize::try_from(offset).ok()?;
        let end = start.checked_add(usize::try_from(size).ok()?)?;
        self.file.get(start..end)
    }

    fn number(&self, offset: u64, size: u64) -> Option<u64> {
        let bytes = self.bytes(offset, size)?.iter();
        let joined = |sum: u64, byte: &u8| sum << 8 | u64::from(*byte);
        Some(match self.big_endian {
            true => bytes.fold(0, joined),
            false => bytes.rev().fold(0, joined),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> Option<String> {
        match of(text.as_bytes())? {
            Interpreter::Line(path) => Some(path.to_str()?.to_owned()),
            Interpreter::Loader(_) | Interpreter::Unnamed => None,
        }
    }

    #[test]
    fn a_script_names_its_interpreter() {
        assert_eq!(line("#!/bin/sh\necho"), Some("/bin/sh".into()));
        assert_eq!(
            line("#! \t/usr/bin/env python3 -u\n"),
            Some("/usr/bin/env".into())
        );
        assert_eq!(line("#!/bin/sh\r\n"), Some("/bin/sh\r".into()));
        assert_eq!(line("#!\n"), None);
        assert_eq!(line("#"), None);
    }

    #[test]
    fn our_own_loader_is_found() {
        let file = std::fs::read("/proc/self/exe").unwrap();
        match of(&file[..file.len().min(ENOUGH as usize)]) {
            Some(Interpreter::Loader(path)) => assert!(path.exists(), "{path:?}"),
            other => assert_eq!(other, None, "a static test binary has no loader"),
        }
    }

    #[test]
    fn a_broken_elf_asks_for_nothing() {
        let mut file = vec![0xff; 512];
        file[..4].copy_from_slice(b"\x7fELF");
        for (wide, order) in [(1, 1), (1, 2), (2, 1), (2, 2)] {
            (file[4], file[5]) = (wide, order);
            assert_eq!(of(&file), None);
        }
        for length in 0..64 {
            assert_eq!(of(&b"\x7fELF\x02\x01"[..length.min(6)]), None);
        }
    }
}
