"""What a document asks for and the files lack, in the words of the vectors.

Written without a look at the model, so that both must be right to agree.
"""

import ipaddress

FAMILY_OF_TYPE = {"ipv4": 4, "static": 4, "ipv6": 6, "static6": 6}


def lost(document, devices, interfaces, name_servers):
    """The set of what is lost; `devices` are the names that cloud-init gave to the links."""
    losses = set()
    links = document.get("links", [])
    # Of links with one id the last one counts.
    by_id = {key(link["id"]): device for link, device in zip(links, devices)}
    bond_macs = {str(link.get("ethernet_mac_address", "")).lower() for link in links if link["type"] == "bond"}
    for link, device in zip(links, devices):
        interface = interfaces.get(device)
        if interface is None:
            losses.add("device")
        elif link["type"] == "bond":
            losses |= of_bond(link, interface, by_id)
        elif link["type"] == "vlan":
            losses |= of_vlan(link, interface, by_id)
        else:
            wanted = str(link.get("ethernet_mac_address") or "").lower()
            matched = (interface.get("match_mac") or "").lower()
            if wanted and matched and matched != wanted and matched in bond_macs:
                losses.add("MAC of the NIC (matched by the bond's MAC)")
    for network in document.get("networks", []):
        if key(network["link"]) not in by_id:
            losses.add("network of a dangling link")
            continue
        interface = interfaces.get(by_id[key(network["link"])])
        if interface is not None:
            losses |= of_network(network, interface, name_servers)
    losses |= of_top_level(document, interfaces, name_servers)
    return losses


def key(identity):
    return repr(identity)


def of_bond(link, interface, by_id):
    losses = set()
    if interface["kind"] != "bond":
        losses.add("bond device")
    wanted = link["bond_links"]
    members = {by_id[key(member)] for member in wanted} if isinstance(wanted, list) else set()
    if members != set(interface.get("members", [])):
        losses.add("bond members")
    written = interface.get("bond", {})
    for name, value in link.items():
        if not name.startswith(("bond_", "bond-")) or name == "bond_links" or value is None or value == "":
            continue
        option = name[5:].replace("-", "_")
        if option not in written:
            losses.add(f"bond option {option}")
        elif option == "mode" and str(written[option]) != str(value):
            losses.add("bond option mode changed")
    if link.get("ethernet_mac_address") and not interface.get("mac"):
        losses.add("mac of the bond")
    if link.get("mtu") and "mtu" not in interface:
        losses.add("mtu of the bond")
    return losses


def of_vlan(link, interface, by_id):
    losses = set()
    vlan = interface.get("vlan")
    if interface["kind"] != "vlan":
        losses.add("vlan device")
    elif vlan["link"] != by_id[key(link["vlan_link"])] or "id" in vlan and str(vlan["id"]) != str(link["vlan_id"]):
        losses.add("vlan parent or id")
    if link.get("vlan_mac_address") and "mac" not in interface:
        losses.add("mac of the vlan")
    if link.get("mtu") and "mtu" not in interface:
        losses.add("mtu of the vlan")
    return losses


def of_network(network, interface, name_servers):
    kind = network["type"]
    losses = set()
    if kind in FAMILY_OF_TYPE:
        address, prefix, guessed = with_prefix(network.get("ip_address"), network.get("netmask"))
        if guessed:
            losses.add(f"prefix (guessed /{prefix})")
        if f"{address}/{prefix}" not in interface.get("addresses", []):
            losses.add("address")
    elif kind in ("ipv4_dhcp", "dhcp", "dhcp4"):
        if not interface.get("dhcp4"):
            losses.add("dhcp4")
    elif kind in ("ipv6_dhcp", "ipv6_dhcpv6-stateful", "dhcp6"):
        if not interface.get("dhcp6") and not interface.get("slaac"):
            losses.add("dhcp6")
        if interface.get("accept_ra") is False:
            losses.add("router advertisements that DHCPv6 needs (RA off)")
    elif kind in ("ipv6_slaac", "ipv6_dhcpv6-stateless"):
        if interface.get("accept_ra") is False:
            losses.add("slaac (RA off)")
    else:
        losses.add("network of unknown type")
    if network.get("gateway"):
        losses |= of_gateway(network, network["gateway"], interface)
    for route in network.get("routes") or []:
        losses |= of_route(network, route, interface)
    known = interface.get("dns", []) + name_servers
    for owner in [network, *(network.get("routes") or [])]:
        for service in owner.get("services") or []:
            if service.get("type") == "dns" and service.get("address") and service["address"] not in known:
                losses.add("dns")
    return losses


def of_route(network, route, interface):
    target, prefix, guessed = with_prefix(route.get("network"), route.get("netmask"))
    gateway = route.get("gateway") or ""
    if prefix == 0 and target in ("0.0.0.0", "::"):
        return of_gateway(network, gateway, interface) if gateway else set()
    wanted = f"{target}/{prefix}" + (f" via {gateway}" if gateway else "")
    for written in interface.get("routes", []):
        if written.startswith(wanted):
            return {f"route changed to {written}"} if guessed else set()
    for written in interface.get("routes", []):
        if written.split("/")[0] == target:
            return {f"route changed to {written}"}
    return {"route"}


def of_gateway(network, gateway, interface):
    written = [line for line in interface.get("gateways", []) if line.split(" ")[0] == gateway]
    if not written:
        return {"gateway"}
    address, prefix, _ = with_prefix(network.get("ip_address"), network.get("netmask"))
    try:
        subnet = ipaddress.ip_interface(f"{address}/{prefix}").network
        reached = ipaddress.ip_address(gateway)
    except ValueError:
        return set()
    outside = reached.version == subnet.version and reached not in subnet and not gateway.startswith("fe80:")
    return {"on-link flag of a gateway outside the subnet"} if outside and "onlink" not in written[0] else set()


def of_top_level(document, interfaces, name_servers):
    known = name_servers + [server for interface in interfaces.values() for server in interface.get("dns", [])]
    wanted = [s.get("address") for s in document.get("services", []) if s.get("type") == "dns"]
    return {"top-level dns" for server in wanted if server and server not in known}


def with_prefix(address, netmask):
    """Address, prefix and whether the prefix is a guess."""
    address, slash, mask = str(address or "").partition("/")
    v6 = ":" in address
    mask = mask if slash else (str(netmask) if netmask else "")
    if not mask:
        return address, 64 if v6 else 24, True
    if mask.isdigit():
        return address, int(mask), False
    if v6:
        return address, bin(int(ipaddress.ip_address(mask))).count("1"), False
    return address, ipaddress.ip_network(f"0.0.0.0/{mask}").prefixlen, False
