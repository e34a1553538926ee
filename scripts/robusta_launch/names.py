"""What this machine can find out about host names, without reaching the hosts."""

import ipaddress
import socket

from .slots import is_here


def short(name):
    return name.split(".")[0]


class Names:
    """Looks host names up as the system does (/etc/hosts, DNS). Tests hand in one of their own."""

    def complaint(self, host):
        """(cause, fix, what mpirun would say) when Open MPI would not know the host by this name; else None."""
        if is_here(host) or host.startswith("+n"):
            return None
        addresses = self.addresses(host)
        if not addresses:
            return (f'host "{host}" is not known here', "correct the name, or add it to /etc/hosts or the DNS",
                    f"ssh: Could not resolve hostname {host}: Name or service not known")
        real = self.hostname() if any(self.is_mine(a) for a in addresses) else self.canonical(host)
        if short(real) == short(host) or _is_address(host):
            return None
        return (f'"{host}" is another name of host {real} ({addresses[0]}); Open MPI knows hosts by what `hostname` '
                "prints there", f"write {real}; to send over the network of {host}, add "
                "--mca btl_tcp_if_include INTERFACE to mpirun",
                "The rankfile that was used claimed that a host was either not allocated or oversubscribed its slots.")

    def hostname(self):
        return socket.gethostname()

    def addresses(self, host):
        """The addresses of a name, as text; empty when it is unknown."""
        try:
            return list(dict.fromkeys(a[4][0] for a in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)))
        except (OSError, UnicodeError):
            return []

    def canonical(self, host):
        """The first name of the host: what stands first in its line of /etc/hosts."""
        try:
            return socket.gethostbyname_ex(host)[0]
        except OSError:
            return host

    def is_mine(self, address):
        """True when an interface of this machine has the address: only those can be bound."""
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        try:
            with socket.socket(family, socket.SOCK_DGRAM) as probe:
                probe.bind((address, 0))
            return True
        except OSError:
            return False


def _is_address(host):
    try:
        ipaddress.ip_address(host)
        return True
    except ValueError:
        return False
