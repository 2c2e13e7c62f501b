//! The texts behind paths: takes paths and how much may be read, gives names and contents.
//!
//! Reads files, pipes and standard input. Refuses devices, because some of them never end, and stops where a limit is
//! exceeded, so that no input can use up the memory.

use std::{
    fs::{File, FileType},
    io::{self, Read},
    os::unix::fs::FileTypeExt,
    path::{Path, PathBuf},
};

use super::{ReadError, STANDARD_INPUT};

const MIB: u64 = 1024 * 1024;
const GIB: u64 = 1024 * MIB;

/// How many bytes are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Of one pipe or of standard input.
    pub pipe: u64,
    /// Of all inputs together.
    pub total: u64,
}

impl Default for Limits {
    /// 1 GiB in all, whatever it is read from.
    fn default() -> Self {
        Self { pipe: GIB, total: GIB }
    }
}

/// What stands behind a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    File,
    Pipe,
    Device,
}

impl Kind {
    fn of(found: FileType) -> Self {
        if found.is_char_device() || found.is_block_device() {
            Self::Device
        } else if found.is_fifo() || found.is_socket() {
            Self::Pipe
        } else {
            Self::File
        }
    }
}

/// Which limit comes first, and how many bytes are left until then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Room {
    Pipe(u64),
    Total(u64),
}

/// One more input, of which so much may be read.
struct Input<'p> {
    path: &'p Path,
    limits: Limits,
    room: Room,
}

/// What may be read of one more input when `used` bytes are read already.
fn room(limits: Limits, kind: Kind, used: u64) -> Room {
    let left = limits.total.saturating_sub(used);
    if kind == Kind::Pipe && limits.pipe < left { Room::Pipe(limits.pipe) } else { Room::Total(left) }
}

/// Names and contents of everything that the paths stand for, in their order.
pub(super) fn texts<P: AsRef<Path>>(paths: &[P], limits: Limits) -> Result<Vec<(String, String)>, ReadError> {
    let (mut texts, mut used) = (Vec::new(), 0);
    for path in paths {
        let path = path.as_ref();
        if path.as_os_str() == STANDARD_INPUT {
            let text = Input::new(path, limits, Kind::Pipe, used).read(io::stdin().lock())?;
            used += text.len() as u64;
            texts.push((super::STDIN.to_owned(), text));
            continue;
        }
        for file in files(path)? {
            let text = of_file(&file, limits, used)?;
            used += text.len() as u64;
            texts.push((file.display().to_string(), text));
        }
    }
    Ok(texts)
}

fn of_file(path: &Path, limits: Limits, used: u64) -> Result<String, ReadError> {
    let unreadable = |source| ReadError::Unreadable { path: path.to_owned(), source };
    // Looked at before it is opened: to open a device may already do something.
    let found = path.metadata().map_err(unreadable)?;
    let kind = Kind::of(found.file_type());
    if kind == Kind::Device {
        return Err(ReadError::Device { path: path.to_owned() });
    }
    let input = Input::new(path, limits, kind, used);
    input.check(found.len())?;
    input.read(File::open(path).map_err(unreadable)?)
}

impl<'p> Input<'p> {
    fn new(path: &'p Path, limits: Limits, kind: Kind, used: u64) -> Self {
        Self { path, limits, room: room(limits, kind, used) }
    }

    fn most(&self) -> u64 {
        match self.room {
            Room::Pipe(most) | Room::Total(most) => most,
        }
    }

    fn check(&self, bytes: u64) -> Result<(), ReadError> {
        let path = || self.path.to_owned();
        match self.room {
            _ if bytes <= self.most() => Ok(()),
            Room::Pipe(_) => Err(ReadError::LargePipe { path: path(), limit: size(self.limits.pipe) }),
            Room::Total(_) => Err(ReadError::TooMuch { path: path(), limit: size(self.limits.total) }),
        }
    }

    fn read(&self, from: impl Read) -> Result<String, ReadError> {
        let unreadable = |source| ReadError::Unreadable { path: self.path.to_owned(), source };
        let mut bytes = Vec::new();
        // One byte more tells an input that is too large from one that just fits.
        from.take(self.most().saturating_add(1)).read_to_end(&mut bytes).map_err(unreadable)?;
        self.check(bytes.len() as u64)?;
        String::from_utf8(bytes)
            .map_err(|error| unreadable(io::Error::new(io::ErrorKind::InvalidData, error)))
    }
}

fn size(bytes: u64) -> String {
    match bytes {
        _ if bytes >= GIB && bytes.is_multiple_of(GIB) => format!("{} GiB", bytes / GIB),
        _ if bytes >= MIB && bytes.is_multiple_of(MIB) => format!("{} MiB", bytes / MIB),
        _ => format!("{bytes} bytes"),
    }
}

fn files(path: &Path) -> Result<Vec<PathBuf>, ReadError> {
    if !path.exists() {
        return Err(ReadError::Missing { path: path.to_owned() });
    }
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let entries = std::fs::read_dir(path);
    let entries = entries.map_err(|source| ReadError::Unreadable { path: path.to_owned(), source })?;
    let is_manifest = |file: &PathBuf| {
        let extension = file.extension().and_then(|extension| extension.to_str());
        matches!(extension, Some("yaml" | "yml" | "json")) && !file.is_dir()
    };
    let mut files: Vec<PathBuf> =
        entries.filter_map(|entry| Some(entry.ok()?.path())).filter(is_manifest).collect();
    files.sort();
    if files.is_empty() { Err(ReadError::Empty { path: path.to_owned() }) } else { Ok(files) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: Limits = Limits { pipe: 10, total: 25 };

    #[test]
    fn a_pipe_has_its_own_limit_until_the_total_is_nearer() {
        let table = [
            (Kind::File, 0, Room::Total(25)),
            (Kind::File, 20, Room::Total(5)),
            (Kind::File, 30, Room::Total(0)),
            (Kind::Pipe, 0, Room::Pipe(10)),
            (Kind::Pipe, 14, Room::Pipe(10)),
            (Kind::Pipe, 15, Room::Total(10)),
            (Kind::Pipe, 25, Room::Total(0)),
        ];
        for (kind, used, expected) in table {
            assert_eq!(room(SMALL, kind, used), expected, "{kind:?} after {used}");
        }
    }

    #[test]
    fn an_input_that_just_fits_is_read_and_one_byte_more_is_refused_by_name() {
        let read = |bytes: usize, kind, used| {
            let input = io::Cursor::new("x".repeat(bytes));
            let read = Input::new(Path::new("in.yaml"), SMALL, kind, used).read(input);
            read.map(|text| text.len()).map_err(|e| e.to_string())
        };
        let pipe = "in.yaml: has more than 10 bytes, the most that is read from a pipe or standard input: \
                    write it to a file and name that file";
        let total = "in.yaml: with this input there are more than 25 bytes, the most that is read in all: \
                     give fewer or smaller files";
        assert_eq!(read(10, Kind::Pipe, 0), Ok(10));
        assert_eq!(read(11, Kind::Pipe, 0), Err(pipe.to_owned()));
        assert_eq!(read(15, Kind::File, 10), Ok(15));
        assert_eq!(read(16, Kind::File, 10), Err(total.to_owned()));
    }

    #[test]
    fn devices_are_refused_without_being_read() {
        let error = texts(&["/dev/zero"], Limits::default()).unwrap_err();
        assert!(error.is_usage());
        assert_eq!(
            error.to_string(),
            "/dev/zero: is a device: specify a file, a folder or a pipe, or - for standard input"
        );
    }

    #[test]
    fn sizes_are_printed_in_the_largest_unit_that_fits() {
        assert_eq!([size(GIB), size(64 * MIB), size(10)], ["1 GiB", "64 MiB", "10 bytes"]);
    }
}
