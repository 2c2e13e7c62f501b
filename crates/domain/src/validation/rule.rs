//! The rules of admission by name, each with its stable code.

use crate::wait::Code;

/// A rule that refuses objects. Messages say more; the rule stays the same from release to release.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// The endpoint of the control plane is not given.
    Endpoint,
    /// A machine has neither an image nor a custom deploy step.
    ImageMissing,
    /// The URL of an image is missing or no URL.
    ImageUrl,
    /// The checksum of an image is missing or no URL.
    ImageChecksum,
    /// An OCI image has a checksum.
    OciChecksum,
    /// A Secret of another namespace is named.
    SecretNamespace,
    /// No Secret can have the name.
    SecretName,
    /// A Metal3DataTemplate of another namespace is named.
    DataTemplateNamespace,
    /// A host selector cannot be used.
    HostSelector,
    /// An entry for a failure domain has no domain or no data template.
    FailureDomain,
    /// A failure domain has two entries.
    FailureDomainTwice,
    /// A host interface is given twice or not at all.
    HostInterface,
    /// A network has no source of addresses.
    AddressSource,
    /// A network has an inline range and a pool.
    RangeAndPool,
    /// A network without inline range has a prefix.
    PrefixOfPool,
    /// The prefix of an inline range is missing or too long.
    RangePrefix,
    /// A range lacks the parts that it needs.
    RangeParts,
    /// The parts of a range are of two address families.
    RangeFamily,
    /// A range ends before it starts.
    RangeOrder,
    /// A range starts outside its subnet.
    RangeSubnet,
    /// A part of a range cannot be read.
    RangeText,
    /// Metadata or network data of a Metal3DataTemplate is changed.
    DataTemplateFixed,
    /// The key of an index space is changed.
    IndexSpaceFixed,
    /// Offset or step of an index is negative.
    IndexBounds,
    /// A route has a netmask and another prefix.
    NetmaskAndPrefix,
    /// The name of a Metal3Data does not follow from template and index.
    DataName,
    /// The index of a Metal3Data is negative.
    DataIndex,
    /// What a Metal3Data or Metal3DataClaim was made for is changed.
    DataFixed,
    /// A Metal3DataClaim names no template.
    ClaimTemplate,
    /// Text is no IP address.
    Address,
    /// A range cannot be used with random allocation.
    RandomRange,
    /// An address is reserved twice.
    ReservationTwice,
    /// A reserved address is outside the ranges.
    ReservationOutside,
    /// An address in use is outside the ranges.
    AddressInUse,
    /// Name prefix or allocation strategy of an IPPool is changed.
    PoolFixed,
    /// A claim or address lacks a part.
    AddressParts,
    /// What an IPClaim or IPAddress is about is changed.
    AddressFixed,
    /// A remediation strategy cannot be used.
    Remediation,
}

impl Rule {
    /// The stable code.
    pub fn code(self) -> Code {
        Code::new(match self {
            Self::Endpoint => "CAPM3-A001",
            Self::ImageMissing => "CAPM3-A010",
            Self::ImageUrl => "CAPM3-A011",
            Self::ImageChecksum => "CAPM3-A012",
            Self::OciChecksum => "CAPM3-A013",
            Self::SecretNamespace => "CAPM3-A014",
            Self::SecretName => "CAPM3-A015",
            Self::DataTemplateNamespace => "CAPM3-A016",
            Self::HostSelector => "CAPM3-A017",
            Self::FailureDomain => "CAPM3-A018",
            Self::FailureDomainTwice => "CAPM3-A019",
            Self::HostInterface => "CAPM3-A030",
            Self::AddressSource => "CAPM3-A031",
            Self::RangeAndPool => "CAPM3-A032",
            Self::PrefixOfPool => "CAPM3-A033",
            Self::RangePrefix => "CAPM3-A034",
            Self::RangeParts => "CAPM3-A035",
            Self::RangeFamily => "CAPM3-A036",
            Self::RangeOrder => "CAPM3-A037",
            Self::RangeSubnet => "CAPM3-A038",
            Self::RangeText => "CAPM3-A039",
            Self::DataTemplateFixed => "CAPM3-A040",
            Self::IndexSpaceFixed => "CAPM3-A041",
            Self::IndexBounds => "CAPM3-A042",
            Self::NetmaskAndPrefix => "CAPM3-A043",
            Self::DataName => "CAPM3-A050",
            Self::DataIndex => "CAPM3-A051",
            Self::DataFixed => "CAPM3-A052",
            Self::ClaimTemplate => "CAPM3-A053",
            Self::Address => "CAPM3-A060",
            Self::RandomRange => "CAPM3-A061",
            Self::ReservationTwice => "CAPM3-A062",
            Self::ReservationOutside => "CAPM3-A063",
            Self::AddressInUse => "CAPM3-A064",
            Self::PoolFixed => "CAPM3-A065",
            Self::AddressParts => "CAPM3-A066",
            Self::AddressFixed => "CAPM3-A067",
            Self::Remediation => "CAPM3-A080",
        })
    }
}
