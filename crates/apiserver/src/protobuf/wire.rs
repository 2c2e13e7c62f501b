//! The wire format of protocol buffers: takes bytes, gives numbered scalars. Knows no messages.

/// One value on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scalar<'a> {
    Varint(u64),
    Bytes(&'a [u8]),
    /// Of a fixed size; no field we know has one.
    Fixed,
}

/// Reads the fields of one message.
pub(super) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// The next field; `None` at the end, an error if it is broken.
    pub(super) fn next(&mut self) -> Result<Option<(u64, Scalar<'a>)>, ()> {
        if self.0.is_empty() {
            return Ok(None);
        }
        let tag = self.varint()?;
        let scalar = match tag & 7 {
            0 => Scalar::Varint(self.varint()?),
            1 => self.take(8).map(|_| Scalar::Fixed)?,
            2 => {
                let length = usize::try_from(self.varint()?).map_err(drop)?;
                Scalar::Bytes(self.take(length)?)
            }
            5 => self.take(4).map(|_| Scalar::Fixed)?,
            _ => return Err(()),
        };
        Ok(Some((tag >> 3, scalar)))
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], ()> {
        let (taken, rest) = self.0.split_at_checked(length).ok_or(())?;
        self.0 = rest;
        Ok(taken)
    }

    fn varint(&mut self) -> Result<u64, ()> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = self.0.split_first().ok_or(())?;
            self.0 = rest;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(())
    }
}
