"""Reads the files of each renderer back into one plain form: name of the interface -> what is configured of it.

Each function takes the files by path and gives the interfaces and the name servers of the whole node. What has no plain
form (ONBOOT, UUIDs, udev rules) is left out; a file that is not known is an error.
"""

import configparser
import ipaddress
import re
import shlex

import yaml

DEFAULTS = ("0.0.0.0/0", "::/0", "default")
JUDGED_SECTIONS = ("connection", "ethernet", "infiniband", "bond", "vlan", "ipv4", "ipv6")
# The name that the kernel has for an option, by netplan's.
NETPLAN_OPTIONS = {
    "ad-select": "ad_select",
    "all-slaves-active": "all_slaves_active",
    "arp-all-targets": "arp_all_targets",
    "arp-interval": "arp_interval",
    "arp-ip-target": "arp_ip_target",
    "arp-validate": "arp_validate",
    "down-delay": "downdelay",
    "fail-over-mac-policy": "fail_over_mac",
    "gratuitious-arp": "num_grat_arp",
    "gratuitous-arp": "num_grat_arp",
    "lacp-rate": "lacp_rate",
    "learn-packet-interval": "learn_packet_interval",
    "mii-monitor-interval": "miimon",
    "min-links": "min_links",
    "mode": "mode",
    "packets-per-slave": "packets_per_slave",
    "primary": "primary",
    "primary-reselect-policy": "primary_reselect",
    "transmit-hash-policy": "xmit_hash_policy",
    "up-delay": "updelay",
}


def plain(value):
    """A value as the vectors have it: digits are a number, booleans are text."""
    if isinstance(value, bool):
        return str(value).lower()
    text = str(value)
    return int(text) if text.isascii() and text.isdigit() and int(text) < 2**64 else value if not isinstance(value, str) else text


def add(interface, key, value):
    """Appends to a list of the interface."""
    if value is not None:
        interface.setdefault(key, []).append(value)


def add_route(interface, target, gateway, metric=None, onlink=False, v6=None):
    suffix = (f" metric {metric}" if metric is not None else "") + (" onlink" if onlink else "")
    if target is None or target in DEFAULTS:
        v6 = target == "::/0" if v6 is None else v6
        add(interface, "gateways", (gateway or ("v6 none" if v6 else "v4 none")) + suffix)
    else:
        add(interface, "routes", target + (f" via {gateway}" if gateway else "") + suffix)


def once(items):
    return list(dict.fromkeys(items))


def tidy(interfaces):
    for interface in interfaces.values():
        for key in ("dns", "dns_search"):
            if key in interface:
                interface[key] = once(interface[key])
        if "members" in interface:
            interface["members"] = sorted(interface["members"])
        for key in [key for key, value in interface.items() if value in ([], {}, None) and value is not False]:
            del interface[key]
    return interfaces


# netplan


def netplan(files):
    (text,) = files.values()
    network = yaml.safe_load(text)["network"]
    interfaces = {}
    for section, kind in (("ethernets", "nic"), ("bonds", "bond"), ("vlans", "vlan")):
        for name, entry in (network.get(section) or {}).items():
            interfaces[str(name)] = netplan_interface(kind, entry)
    assert set(network) <= {"version", "ethernets", "bonds", "vlans"}, set(network)
    return tidy(interfaces), []


def netplan_interface(kind, entry):
    interface = {"kind": kind}
    interface["match_mac"] = entry.get("match", {}).get("macaddress")
    interface["mac"] = entry.get("macaddress")
    for key in ("dhcp4", "dhcp6"):
        if key in entry:
            interface[key] = entry[key]
    if "accept-ra" in entry:
        interface["accept_ra"] = entry["accept-ra"]
    if "mtu" in entry:
        interface["mtu"] = plain(entry["mtu"])
    interface["addresses"] = list(entry.get("addresses", []))
    for key in ("gateway4", "gateway6"):
        add(interface, "gateways", entry.get(key))
    for route in entry.get("routes", []):
        via = "null" if route.get("via") is None else route["via"]
        add_route(interface, str(route["to"]), via, route.get("metric"), route.get("on-link", False))
    servers = entry.get("nameservers", {})
    interface["dns"] = list(servers.get("addresses", []))
    interface["dns_search"] = list(servers.get("search", []))
    if kind == "bond":
        interface["members"] = list(entry.get("interfaces", []))
        interface["bond"] = {
            NETPLAN_OPTIONS[key]: plain(value) for key, value in (entry.get("parameters") or {}).items() if value is not None
        }
    if kind == "vlan":
        interface["vlan"] = {"link": str(entry.get("link", ""))}
        if entry.get("id") is not None:
            interface["vlan"]["id"] = plain(entry["id"])
    return interface


# systemd-networkd


def networkd(files):
    interfaces = {}
    for text in files.values():
        sections = unit(text)
        (match,) = [keys for section, keys in sections if section == "Match"]
        match = dict(match)
        interfaces[match["Name"]] = networkd_interface(sections, match)
    return tidy(interfaces), []


def unit(text):
    """Sections in their order, each a list of keys and values."""
    sections = []
    for line in text.splitlines():
        if line.startswith("["):
            sections.append((line.strip("[]"), []))
        elif line.strip():
            sections[-1][1].append(tuple(line.split("=", 1)))
    return sections


def networkd_interface(sections, match):
    interface = {"kind": "nic", "match_mac": match.get("MACAddress")}
    for section, keys in sections:
        for key, value in keys:
            if (section, key) == ("Link", "MTUBytes"):
                interface["mtu"] = plain(value)
            elif (section, key) == ("Link", "MACAddress"):
                interface["mac"] = value
            elif (section, key) == ("Address", "Address"):
                add(interface, "addresses", value)
            elif section == "Network":
                networkd_network(interface, key, value)
        if section == "Route":
            # Of lines with one key the last one counts.
            route = dict(keys)
            onlink = route.get("GatewayOnLink", "").lower() in ("yes", "true")
            add_route(interface, route.get("Destination"), route.get("Gateway"), route.get("Metric"), onlink)
    return interface


def networkd_network(interface, key, value):
    if key == "DHCP":
        interface.update({family: True for family in ("dhcp4", "dhcp6") if value in ("yes", family.replace("dhcp", "ipv"))})
    elif key == "IPv6AcceptRA":
        interface["accept_ra"] = value.lower() in ("yes", "true")
    elif key in ("DNS", "Domains"):
        for word in value.split():
            add(interface, "dns" if key == "DNS" else "dns_search", word)


# NetworkManager


def keyfile(text):
    parser = configparser.ConfigParser(interpolation=None, strict=False, comment_prefixes=("#",), delimiters=("=",))
    parser.optionxform = str
    parser.read_string(text)
    return {section: dict(parser[section]) for section in parser.sections()}


def profile_name(sections):
    connection = sections["connection"]
    return connection.get("interface-name") or connection["id"].removeprefix("cloud-init ")


def same_setting(section, key, value, taken):
    """Whether NetworkManager took a key, if perhaps in other words; `taken` is the section as it writes it."""
    read_as = taken.get(key)
    if read_as is not None and read_as.lower() == value.lower():
        return True
    if key in ("may-fail", "slave-type", "gateway") or value in ("", "0", "disabled", "0.0.0.0"):
        # Left out where it is the default; the gateway is written behind the first address.
        return True
    if key == "method":
        # Told by the addresses.
        return True
    if section == "bond" and key == "mode":
        return read_as is not None and value.isdigit() and int(value) < 7
    if read_as is None:
        return False
    if key in ("dns", "dns-search"):
        return set(value.split(";")) == set(read_as.split(";"))
    if key.startswith(("address", "route")):
        return canonical(value, read_as)
    return False


def canonical(value, read_as):
    """Whether two addresses or routes are the same in other words."""
    for wanted, got in zip(value.split(","), read_as.split(",") + [""] * 9):
        try:
            wanted, got = ipaddress.ip_interface(wanted), ipaddress.ip_interface(got or "0.0.0.0")
        except ValueError:
            return False
        if wanted != got and not (got.ip.is_unspecified and wanted.ip.is_unspecified):
            return False
    return True


def network_manager(files):
    profiles = {}
    for path, text in files.items():
        if path.endswith(".nmconnection"):
            sections = keyfile(text)
            profiles[profile_name(sections)] = sections
    by_uuid = {sections["connection"]["uuid"]: name for name, sections in profiles.items()}
    interfaces = {name: manager_interface(name, sections, by_uuid) for name, sections in profiles.items()}
    for name, sections in profiles.items():
        connection = sections["connection"]
        master = by_uuid.get(connection.get("master") or connection.get("controller"))
        if master in interfaces:
            add(interfaces[master], "members", name)
    return tidy(interfaces), []


def manager_interface(name, sections, by_uuid):
    kind = sections["connection"]["type"]
    interface = {"kind": "nic" if kind == "ethernet" else kind}
    hardware = sections.get("infiniband" if kind == "infiniband" else "ethernet", {})
    if "mac-address" in hardware:
        interface["match_mac"] = hardware["mac-address"].lower()
    elif kind in ("ethernet", "infiniband"):
        interface["match_name"] = name
    if "mtu" in hardware:
        interface["mtu"] = plain(hardware["mtu"])
    if "cloned-mac-address" in hardware:
        interface["mac"] = hardware["cloned-mac-address"]
    if kind == "bond":
        interface["bond"] = {option: plain(value) for option, value in sections.get("bond", {}).items()}
    if kind == "vlan":
        vlan = sections["vlan"]
        interface["vlan"] = {"link": by_uuid.get(vlan.get("parent"), vlan.get("parent", ""))}
        if "id" in vlan:
            interface["vlan"]["id"] = plain(vlan["id"])
    for family in [section for section in sections if section in ("ipv4", "ipv6")]:
        manager_family(interface, family, sections[family])
    return interface


def manager_family(interface, family, keys):
    method = keys.get("method")
    interface[f"{family}_method"] = method
    if family == "ipv4" and method == "auto":
        interface["dhcp4"] = True
    if family == "ipv6" and method in ("auto", "dhcp"):
        interface["slaac" if method == "auto" else "dhcp6"] = True
    for key, value in keys.items():
        if re.fullmatch(r"address\d+", key):
            add(interface, "addresses", value)
        elif key == "gateway":
            add(interface, "gateways", value)
        elif re.fullmatch(r"route\d+", key):
            target, gateway, metric = (value.split(",") + [None, None])[:3]
            add_route(interface, target, gateway or None, metric)
        elif key in ("dns", "dns-search"):
            for word in value.split(";"):
                add(interface, key.replace("-", "_"), word or None)


# sysconfig


def shell(text):
    """KEY=VALUE lines; comments and empty lines are left out."""
    keys = {}
    for line in text.splitlines():
        if line.strip() and not line.startswith(("#", ";")):
            key, value = line.split("=", 1)
            keys[key] = "".join(shlex.split(value))
    return keys


def resolv_conf(files):
    lines = files.get("etc/resolv.conf", "").splitlines()
    return once([line.split()[1] for line in lines if line.startswith("nameserver ")])


def sysconfig(files):
    interfaces, members = {}, {}
    folder = "etc/sysconfig/network-scripts/"
    for path, text in files.items():
        if path.startswith(folder + "ifcfg-"):
            keys = shell(text)
            name = keys["DEVICE"]
            interfaces[name] = rhel_interface(name, keys)
            if "MASTER" in keys:
                members.setdefault(keys["MASTER"], []).append(name)
            rhel_routes(interfaces[name], files, folder, name)
    for bond, names in members.items():
        interfaces.setdefault(bond, {"kind": "nic"})["members"] = names
    return tidy(interfaces), resolv_conf(files)


def rhel_interface(name, keys):
    kind = "bond" if keys.get("TYPE") == "Bond" else "vlan" if keys.get("VLAN") == "yes" else "nic"
    interface = {"kind": "infiniband" if keys.get("TYPE") == "InfiniBand" else kind}
    interface["match_mac"], interface["mac"] = keys.get("HWADDR"), keys.get("MACADDR")
    if "MTU" in keys:
        interface["mtu"] = plain(keys["MTU"])
    interface["dhcp4"] = True if keys.get("BOOTPROTO") == "dhcp" else None
    interface["dhcp6"] = True if keys.get("DHCPV6C") == "yes" else None
    for key, member in (("IPV6_AUTOCONF", "slaac"), ("IPV6_FORCE_ACCEPT_RA", "accept_ra")):
        if key in keys:
            interface[member] = keys[key] == "yes"
    if kind == "vlan":
        link, _, number = name.rpartition(".")
        interface["vlan"] = {"id": plain(number), "link": keys.get("PHYSDEV", link)}
    interface["bond"] = bond_options(keys.get("BONDING_OPTS", ""))
    four_addresses(interface, keys)
    six = [keys["IPV6ADDR"]] if "IPV6ADDR" in keys else []
    for address in six + keys.get("IPV6ADDR_SECONDARIES", "").split():
        add(interface, "addresses", address)
    for key in ("GATEWAY", "IPV6_DEFAULTGW"):
        if key in keys:
            add_route(interface, None, keys[key], keys.get("METRIC"))
    interface["dns"] = [keys[key] for key in sorted(keys) if re.fullmatch(r"DNS\d+", key)]
    interface["dns_search"] = keys.get("DOMAIN", "").split()
    return interface


def four_addresses(interface, keys):
    for number in ["", *range(100)]:
        # SUSE names the first address of IPv6 as if it were the sixth of IPv4, but gives it no mask.
        mask = keys.get(f"PREFIX{number}") or keys.get(f"NETMASK{number}")
        if mask and f"IPADDR{number}" in keys:
            prefix = ipaddress.ip_network(f"0.0.0.0/{mask}").prefixlen
            add(interface, "addresses", f"{keys[f'IPADDR{number}']}/{prefix}")


def bond_options(text):
    options = {}
    for word in re.split(r"\s+(?=\w+=)", text.strip()):
        if word:
            option, value = word.split("=", 1)
            options[option] = plain(value)
    return options


def rhel_routes(interface, files, folder, name):
    keys = shell(files.get(f"{folder}route-{name}", ""))
    for number in [key.removeprefix("ADDRESS") for key in keys if key.startswith("ADDRESS")]:
        prefix = ipaddress.ip_network(f"0.0.0.0/{keys[f'NETMASK{number}']}").prefixlen
        target = f"{keys[f'ADDRESS{number}']}/{prefix}"
        add(interface, "routes", route_line(target, keys.get(f"GATEWAY{number}"), keys.get(f"METRIC{number}")))
    for line in files.get(f"{folder}route6-{name}", "").splitlines():
        words = line.split()
        if words and not line.startswith("#"):
            value = lambda word: words[words.index(word) + 1] if word in words else None
            add(interface, "routes", route_line(words[0], value("via"), value("metric")))


def route_line(target, gateway, metric):
    return target + (f" via {gateway}" if gateway else "") + (f" metric {metric}" if metric else "")


def sysconfig_suse(files):
    interfaces = {}
    for path, text in files.items():
        if path.startswith("etc/sysconfig/network/ifcfg-"):
            name = path.removeprefix("etc/sysconfig/network/ifcfg-")
            interfaces[name] = suse_interface(shell(text))
    return tidy(interfaces), resolv_conf(files)


def suse_interface(keys):
    kind = "bond" if "BONDING_MASTER" in keys else "vlan" if "ETHERDEVICE" in keys else "nic"
    interface = {"kind": kind, "mac": keys.get("LLADDR")}
    if "MTU" in keys:
        interface["mtu"] = plain(keys["MTU"])
    protocol = keys.get("BOOTPROTO")
    interface["dhcp4"] = True if protocol in ("dhcp", "dhcp4") else None
    interface["dhcp6"] = True if protocol in ("dhcp", "dhcp6") else None
    if kind == "vlan":
        interface["vlan"] = {"link": keys["ETHERDEVICE"]}
        if "VLAN_ID" in keys:
            interface["vlan"]["id"] = plain(keys["VLAN_ID"])
    if kind == "bond":
        interface["bond"] = bond_options(keys.get("BONDING_MODULE_OPTS", ""))
        interface["members"] = [keys[key] for key in sorted(keys) if re.fullmatch(r"BONDING_SLAVE_\d+", key)]
    four_addresses(interface, keys)
    for key in ["IPADDR6"] + [f"IPADDR6_{number}" for number in range(100)]:
        add(interface, "addresses", keys.get(key))
    return interface


# /etc/network/interfaces


def eni(files):
    interfaces, name_servers, current, family = {}, [], None, ""
    text = files["etc/network/interfaces"]
    for line in text.splitlines():
        words = line.split()
        if not words or words[0].startswith("#") or words[0] in ("auto", "source", "allow-hotplug"):
            continue
        if words[0] == "iface":
            current, family = interfaces.setdefault(words[1], {"kind": "nic"}), words[2]
            eni_method(current, family, words[3])
        else:
            eni_key(current, words)
    lo = interfaces.pop("lo", {})
    for name, interface in interfaces.items():
        master = interface.pop("master", None)
        if master in interfaces:
            add(interfaces[master], "members", name)
        if interface["kind"] != "bond":
            # Options of the bond are repeated at its members.
            interface.pop("bond", None)
    name_servers += lo.get("dns", [])
    return tidy(interfaces), once(name_servers)


def eni_method(interface, family, method):
    if method == "dhcp":
        interface["dhcp4" if family == "inet" else "dhcp6"] = True
    elif method == "auto" and family == "inet6":
        interface["slaac"] = True


def eni_key(interface, words):
    key, value = words[0], " ".join(words[1:])
    if key == "address":
        add(interface, "addresses", value)
    elif key == "gateway":
        add(interface, "gateways", value)
    elif key == "mtu":
        interface["mtu"] = plain(value)
    elif key == "hwaddress":
        interface["mac"] = words[-1]
    elif key == "accept_ra":
        interface["accept_ra"] = value == "1"
    elif key in ("dns-nameservers", "dns-search"):
        for word in words[1:]:
            add(interface, "dns" if key == "dns-nameservers" else "dns_search", word)
    elif key == "vlan-raw-device":
        interface["kind"] = "vlan"
        interface.setdefault("vlan", {})["link"] = value
    elif key == "vlan_id":
        interface.setdefault("vlan", {})["id"] = plain(value)
    elif key in ("bond-slaves", "bond_slaves"):
        interface["kind"] = "bond"
    elif key in ("bond-master", "bond_master"):
        interface["master"] = value
    elif key.startswith(("bond-", "bond_")):
        interface.setdefault("bond", {})[key[5:].replace("-", "_")] = plain(value)
    elif key == "post-up" and words[1:3] == ["route", "add"]:
        eni_route(interface, words[3:])


def eni_route(interface, words):
    value = lambda word: words[words.index(word) + 1] if word in words else None
    target = next((word for word in words if "/" in word), None)
    gateway, metric = value("gw"), value("metric")
    add_route(interface, target, gateway, metric, v6="inet6" in words)
