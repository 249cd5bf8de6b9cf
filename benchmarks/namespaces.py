"""Provides hosts on one machine: network namespaces that a bridge connects (Linux, as root)."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Self, TypeAlias

END_SECONDS = 30.0
Running: TypeAlias = "subprocess.Popen[bytes]"


def address_of(number: int) -> str:
    """Return the address of the host *number*, from 0."""
    return f"10.77.0.{number + 1}"


class Network:
    """Creates the hosts and the bridge between them, and removes them at the end."""

    def __init__(self, hosts: Sequence[str]) -> None:
        self._hosts = tuple(hosts)
        self._mark = f"ag{os.getpid()}"
        self._processes: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Self:
        self._ip("netns", "add", self._name("bridge"))
        try:
            self._ip("-n", self._name("bridge"), "link", "add", "switch", "type", "bridge")
            self._ip("-n", self._name("bridge"), "link", "set", "switch", "up")
            for number, host in enumerate(self._hosts):
                self._add(host, f"{address_of(number)}/24")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_exception: object) -> None:
        self.end()
        for host in ("bridge", *self._hosts):
            command = ["ip", "netns", "del", self._name(host)]
            subprocess.run(command, check=False, capture_output=True)  # noqa: S603  # the benchmark's command; the program may be missing

    def end(self) -> None:
        """End the programs on the hosts, the last one first."""
        for process in reversed(self._processes):
            process.terminate()
        for process in self._processes:
            try:
                process.wait(END_SECONDS)
            except subprocess.TimeoutExpired:  # a worker that was cut off waits for its scheduler
                process.kill()
                process.wait()
        self._processes.clear()

    def start(self, host: str, words: tuple[object, ...], config: Path, log: Path) -> Running:
        """Start this Python with *words* on *host*; its output is in *log*."""
        command = [*self._on(host), sys.executable, *map(str, words)]
        environment = os.environ | {"DASK_CONFIG": str(config)}
        with log.open("ab") as output:
            process = subprocess.Popen(  # noqa: S603  # our own command
                command, cwd=log.parent, env=environment, stdout=output, stderr=output
            )
        self._processes.append(process)
        return process

    def link(self, host: str, state: str) -> None:
        """Set the link of *host* to *state*, up or down, at the bridge: the host sees no change."""
        self._ip("-n", self._name("bridge"), "link", "set", host, state)

    def connections(self, host: str) -> int:
        """Return how many connections *host* has opened."""
        command = [*self._on(host), "cat", "/proc/net/snmp"]
        text = subprocess.run(command, check=True, capture_output=True, text=True).stdout  # noqa: S603  # our own command
        names, values = (line.split() for line in text.splitlines() if line.startswith("Tcp:"))
        return int(values[names.index("ActiveOpens")])

    def _add(self, host: str, address: str) -> None:
        name, bridge = self._name(host), self._name("bridge")
        self._ip("netns", "add", name)
        pair = ("link", "add", "eth0", "netns", name, "type", "veth", "peer", "name", host)
        self._ip(*pair, "netns", bridge)
        self._ip("-n", bridge, "link", "set", host, "master", "switch", "up")
        self._ip("-n", name, "address", "add", address, "dev", "eth0")
        self._ip("-n", name, "link", "set", "eth0", "up")
        self._ip("-n", name, "link", "set", "lo", "up")

    def _name(self, host: str) -> str:
        return f"{self._mark}-{host}"

    def _on(self, host: str) -> list[str]:
        return ["ip", "netns", "exec", self._name(host)]

    @staticmethod
    def _ip(*words: str) -> None:
        subprocess.run(["ip", *words], check=True)  # noqa: S603, S607  # our own command
