"""The schema that Nova and Ironic have for network_data, written anew from what it accepts and refuses."""

import jsonschema

MAC = {"type": "string", "pattern": "^[0-9a-fA-F]{2}([:-][0-9a-fA-F]{2}){5}$"}
MTU = {"anyOf": [{"type": "null"}, {"type": "number", "minimum": 1, "maximum": 65535}]}
TEXT = {"type": "string"}
IPV4 = {"type": "string", "format": "ipv4"}
IPV6 = {"type": "string", "format": "ipv6"}
IPV4_NETMASK = {"type": "string", "format": "nova-netmask"}
IPV6_ADDRESS = {"type": "string", "format": "nova-ipv6-with-prefix"}

DNS = {
    "type": "object",
    "required": ["type", "address"],
    "properties": {"type": {"enum": ["dns"]}, "address": {"anyOf": [IPV4, IPV6]}},
}
MODES = ["802.3ad", "balance-rr", "active-backup", "balance-xor", "broadcast", "balance-tlb", "balance-alb"]
L2_TYPES = ["bridge", "dvs", "hw_veb", "hyperv", "ovs", "tap", "vhostuser", "vif", "phy"]


def link(types, required, **properties):
    properties = {"id": TEXT, "type": {"enum": types}, "mtu": MTU, **properties}
    return {"type": "object", "required": ["id", "type", *required], "properties": properties}


def network(types, address, netmask, gateway):
    route = {
        "type": "object",
        "required": ["network", "netmask", "gateway"],
        "properties": {
            "network": gateway,
            "netmask": netmask,
            "gateway": gateway,
            "services": {"type": "array", "items": DNS},
        },
    }
    properties = {
        "id": TEXT,
        "link": TEXT,
        "network_id": TEXT,
        "type": {"enum": types},
        "ip_address": address,
        "netmask": netmask,
        "routes": {"type": "array", "items": route},
    }
    return {"type": "object", "required": ["id", "link", "network_id", "type"], "properties": properties}


SCHEMA = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "type": "object",
    "required": ["links", "networks", "services"],
    "properties": {
        "links": {
            "type": "array",
            "items": {
                "oneOf": [
                    link(L2_TYPES, ["ethernet_mac_address"], ethernet_mac_address=MAC, vif_id=TEXT),
                    link(
                        ["bond"],
                        ["ethernet_mac_address", "bond_mode", "bond_links"],
                        ethernet_mac_address=MAC,
                        bond_mode={"enum": MODES},
                        bond_links={"type": "array", "items": TEXT},
                    ),
                    link(
                        ["vlan"],
                        ["vlan_mac_address", "vlan_link", "vlan_id"],
                        vlan_mac_address=MAC,
                        vlan_link=TEXT,
                        vlan_id={"type": "integer"},
                    ),
                ]
            },
        },
        "networks": {
            "type": "array",
            "items": {
                "oneOf": [
                    network(["ipv4", "ipv4_dhcp"], IPV4, IPV4_NETMASK, IPV4),
                    network(["ipv6", "ipv6_dhcp", "ipv6_slaac"], IPV6_ADDRESS, IPV6, IPV6),
                ]
            },
        },
        "services": {"type": "array", "items": DNS},
    },
}

FORMATS = jsonschema.FormatChecker(formats=["ipv4", "ipv6"])


@FORMATS.checks("nova-netmask")
def is_netmask(value):
    if not isinstance(value, str):
        return True
    if value.startswith("/"):
        return value[1:].isdigit() and value[1] != "0" and 1 <= int(value[1:]) <= 31
    masks = [(0xFFFFFFFF << (32 - bits)) & 0xFFFFFFFF for bits in range(32)]
    return value in [".".join(str(mask >> shift & 255) for shift in (24, 16, 8, 0)) for mask in masks]


@FORMATS.checks("nova-ipv6-with-prefix")
def is_ipv6_with_prefix(value):
    if not isinstance(value, str):
        return True
    address, slash, prefix = value.partition("/")
    if slash and not (prefix.isascii() and prefix.isdigit() and len(prefix) <= 2):
        return False
    return FORMATS.conforms(address, "ipv6")


def faults(document):
    """Places of what the schema refuses: a key of the document, or an entry of its lists."""
    places = set()
    for error in jsonschema.Draft7Validator(SCHEMA, format_checker=FORMATS).iter_errors(document):
        path = list(error.absolute_path)
        if path:
            places.add(path[0] if len(path) == 1 else f"{path[0]}[{path[1]}]")
        else:
            places |= {key for key in SCHEMA["required"] if key not in document}
    return sorted(places)
