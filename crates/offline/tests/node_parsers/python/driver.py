"""Runs the unpacked cloud-init on network_data documents and says what its files configure.

Takes one JSON object a line on standard input, {"document": ..., "nics": {MAC: NAME}}, and gives one a line on standard
output: what failed, the devices, and for each renderer what its files say. Nothing outside of a temporary folder is
written, and no NIC of this machine is looked at.

Argument: the folder of Debian's unpacked packages.
"""

import copy
import json
import logging
import pathlib
import subprocess
import sys
import tempfile

import cloudinit.net
import cloudinit.util
import lost
import nova_schema
import read_back
from cloudinit.distros import opensuse, rhel
from cloudinit.distros.networking import LinuxNetworking
from cloudinit.net import eni, netplan, network_manager, network_state, networkd, sysconfig
from cloudinit.sources.helpers.openstack import convert_net_json

# Paths are relative, so that they are below the temporary folder.
RENDERERS = {
    "netplan": (netplan, {"netplan_path": "etc/netplan/50-cloud-init.yaml", "features": []}, read_back.netplan),
    "networkd": (networkd, {}, read_back.networkd),
    "network_manager": (network_manager, {}, read_back.network_manager),
    "sysconfig": (sysconfig, rhel.Distro.renderer_configs["sysconfig"], read_back.sysconfig),
    "sysconfig_suse": (sysconfig, opensuse.Distro.renderer_configs["sysconfig"], read_back.sysconfig_suse),
    "eni": (eni, {"eni_path": "etc/network/interfaces"}, read_back.eni),
}


class Host(LinuxNetworking):
    """The NICs of the host that the document is for."""

    def __init__(self, nics):
        super().__init__()
        self.nics = {}
        self.infiniband = {}
        for mac, name in nics.items():
            mac = mac.lower()
            self.nics[mac] = name
            if len(mac.split(":")) == 20:
                pairs = mac.split(":")
                self.infiniband[name] = mac
                self.nics[":".join(pairs[12:15] + pairs[17:])] = name

    def get_interfaces_by_mac(self):
        return self.nics

    def settle(self, *, exists=None):
        pass


def main():
    root = pathlib.Path(sys.argv[1])
    logging.disable(logging.CRITICAL)
    # A NIC that is not there is waited for; there is nobody who would bring it.
    cloudinit.util.log_time = lambda logfunc, msg, func, args=None, kwargs=None, **_: func(*(args or ()), **(kwargs or {}))
    # Only root may change the owner of a file, and nobody reads these.
    cloudinit.util.chownbyname = lambda *_args, **_kwargs: None
    for line in sys.stdin:
        task = json.loads(line)
        answer = outcome(task["document"], Host(task["nics"]), root)
        answer["nova"] = nova_schema.faults(task["document"])
        print(json.dumps(answer), flush=True)


def outcome(document, host, root):
    cloudinit.net.get_interfaces_by_mac = host.get_interfaces_by_mac
    cloudinit.net.get_ib_hwaddrs_by_interface = lambda: host.infiniband
    try:
        config = convert_net_json(copy.deepcopy(document), known_macs=host.nics)
    except Exception as error:
        return {"refused": [failure("convert", error)], "devices": [], "renderers": {}}
    devices = [str(entry.get("name")) for entry in config["config"] if entry["type"] != "nameserver"]
    refused = []
    try:
        host.wait_for_physdevs(config)
    except Exception as error:
        refused.append(failure("waitForNics", error))
    renderers = {name: rendered(name, config, document, devices, root) for name in RENDERERS}
    return {"refused": refused, "devices": devices, "renderers": renderers}


def rendered(name, config, document, devices, root):
    module, settings, read = RENDERERS[name]
    renderer = module.Renderer(copy.deepcopy(settings))
    try:
        state = network_state.parse_net_config_data(copy.deepcopy(config), renderer=renderer)
    except Exception as error:
        return {"refused": [failure("parse", error)], "interfaces": {}, "lost": []}
    with tempfile.TemporaryDirectory() as folder:
        try:
            renderer.render_network_state(state, target=folder)
        except Exception as error:
            return {"refused": [failure("render", error)], "interfaces": {}, "lost": []}
        files = {
            str(path.relative_to(folder)): path.read_text()
            for path in sorted(pathlib.Path(folder).rglob("*"))
            if path.is_file()
        }
        interfaces, name_servers = read(files)
        result = {"refused": [], "interfaces": interfaces, "lost": []}
        if name == "netplan":
            complaint = netplan_generate(folder, root)
            if complaint:
                result["refused"].append({"stage": "generate", "reason": complaint})
                return result
        if name == "network_manager":
            result["profiles"] = profiles(files, root)
        result["lost"] = sorted(lost.lost(document, devices, interfaces, name_servers))
        return result


def failure(stage, error):
    return {"stage": stage, "reason": f"{type(error).__name__}: {error}"[:240]}


def netplan_generate(folder, root):
    """What netplan's own parser has against the file; nothing if it takes it."""
    program = root / "usr/libexec/netplan/generate"
    if not program.exists():
        program = root / "lib/netplan/generate"
    run = subprocess.run([program, "--root-dir", folder], capture_output=True, text=True)
    return (run.stderr.strip().splitlines() or [f"code {run.returncode}"])[-1] if run.returncode else None


def profiles(files, root):
    """What NetworkManager has against the profiles: each that it refuses, each key that it does not take."""
    complaints = set()
    for text in files.values():
        if "[connection]" not in text:
            continue
        sections = read_back.keyfile(text)
        name = read_back.profile_name(sections)
        command = [root / "usr/bin/nmcli", "--offline", "connection", "modify"]
        run = subprocess.run(command, input=text, capture_output=True, text=True)
        if run.returncode:
            complaints.add(f"{name} refused")
            continue
        taken = read_back.keyfile(run.stdout)
        for section in [section for section in sections if section in read_back.JUDGED_SECTIONS]:
            for key, value in sections[section].items():
                if not read_back.same_setting(section, key, value, taken.get(section, {})):
                    complaints.add(f"{name} {section}.{key}")
    return sorted(complaints)


if __name__ == "__main__":
    main()
