//! Metal3MachineTemplate: what its machines are to follow, and what they may count on before there is one. The two have
//! nothing in common but the template, so each has its own queue: a new machine is no reason to read the hosts.

pub mod capacity;
pub mod cleaning;
