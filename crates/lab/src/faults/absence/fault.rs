//! The ways in which a server can seem to lack what is there.

use capm3_engine::ResourceKind;

/// What the server's answers about one kind look like while the fault lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum AnswerFault {
    /// Every request is answered with 404 and a line of text, as by a load balancer.
    NotFoundText,
    /// Every request is answered with a Status 404 that names another kind.
    NotFoundOther,
    /// Lists have no items. Everything else is true.
    EmptyList,
    /// Lists lack every second object, from the first one on. Everything else is true.
    PartialList,
    /// One object has a field of the wrong type, in lists, in watches and when it is read.
    Unreadable,
    /// Every request is answered with 403.
    Forbidden,
    /// The version is not served: so say discovery and the definition, and every request is answered with 404.
    NotServed,
    /// The definition is gone, and with it the kind in discovery and every object. All of it comes back.
    CrdGone,
    /// Lists show an earlier moment: half of the changes that the kind has seen. Everything else is true.
    OldList,
    /// Watches report that live objects are deleted, and at the end that they are added. Everything else is true.
    WatchDeleted,
}

/// What becomes of a watch that is open when the fault begins or ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    /// It goes on.
    Nothing,
    /// The server closes it.
    Close,
    /// The server says that the version is too old, so that the informer lists again.
    Expire,
    /// It reports an object that cannot be read.
    TellUnreadable,
    /// It reports that every live object is deleted.
    TellDeleted,
    /// It reports that every live object is added.
    TellAdded,
}

impl AnswerFault {
    /// Every fault.
    pub const ALL: [Self; 10] = [
        Self::NotFoundText,
        Self::NotFoundOther,
        Self::EmptyList,
        Self::PartialList,
        Self::Unreadable,
        Self::Forbidden,
        Self::NotServed,
        Self::CrdGone,
        Self::OldList,
        Self::WatchDeleted,
    ];

    /// Name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::NotFoundText => "404-text",
            Self::NotFoundOther => "404-of-another-kind",
            Self::EmptyList => "empty-list",
            Self::PartialList => "partial-list",
            Self::Unreadable => "unreadable-object",
            Self::Forbidden => "forbidden",
            Self::NotServed => "version-not-served",
            Self::CrdGone => "crd-gone",
            Self::OldList => "old-list",
            Self::WatchDeleted => "watch-deleted",
        }
    }

    /// Whether the fault applies to a kind: built-in kinds have no definition that could change.
    pub fn applies_to(self, kind: &ResourceKind) -> bool {
        !matches!(self, Self::NotServed | Self::CrdGone) || !kind.group.is_empty()
    }

    /// What the beginning means to an open watch.
    pub(super) fn begins(self) -> Turn {
        match self {
            Self::NotFoundText | Self::NotFoundOther | Self::Forbidden | Self::NotServed | Self::CrdGone => {
                Turn::Close
            }
            Self::EmptyList | Self::PartialList | Self::OldList => Turn::Expire,
            Self::Unreadable => Turn::TellUnreadable,
            Self::WatchDeleted => Turn::TellDeleted,
        }
    }

    /// What a watch reports first that is opened while the fault lasts.
    pub(super) fn opens(self) -> Turn {
        if self == Self::WatchDeleted { Turn::TellDeleted } else { Turn::Nothing }
    }

    /// What the end means to an open watch. Where a list left something out, only another list can tell.
    pub(super) fn ends(self) -> Turn {
        match self {
            Self::EmptyList | Self::PartialList | Self::OldList | Self::Unreadable => Turn::Expire,
            Self::WatchDeleted => Turn::TellAdded,
            _ => Turn::Nothing,
        }
    }
}

impl std::fmt::Display for AnswerFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
