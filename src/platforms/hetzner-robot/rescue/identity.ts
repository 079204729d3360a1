import { HetznerRobotError } from '../error-codes.ts';
import { labeledValue, parseLabels } from './parse-labels.ts';
import { shellEnvironment } from './scripts/common.ts';

/** The system that answers over SSH. */
export interface RescueIdentity {
  readonly hostname: string;
  /** The device of `/`, e.g. `/dev/nvme0n1p3`; empty: it is in RAM. */
  readonly rootDevice: string;
  /** File system of `/`. */
  readonly rootType: string;
  readonly motdIsRescue: boolean;
  /** Boot ID, a new one at every boot. */
  readonly bootId: string;
  readonly uptimeSeconds: number;
  /** MAC address of the card with the default route; lower case, with colons. */
  readonly mac: string;
  /** Gateway of the default route, IPv4; empty: there is none. */
  readonly gateway: string;
  readonly firmware: 'uefi' | 'bios';
}

/** The known properties of the expected system. */
export interface ExpectedRescue {
  readonly mac?: string;
  /** Boot ID before the reset. The current one has to differ. */
  readonly otherThanBootId?: string;
  /** The uptime cannot exceed the time since the reset. */
  readonly maxUptimeSeconds?: number;
}

/** Reads only. */
export const identityScript = `${shellEnvironment}printf 'hostname %s\\n' "$(cat /proc/sys/kernel/hostname)"
printf 'root %s\\n' "$(findmnt -no SOURCE /)"
printf 'type %s\\n' "$(findmnt -no FSTYPE /)"
if grep -qi 'hetzner rescue' /etc/motd 2>/dev/null; then echo 'motd rescue'; fi
printf 'boot %s\\n' "$(cat /proc/sys/kernel/random/boot_id)"
printf 'uptime %s\\n' "$(cut -d' ' -f1 /proc/uptime)"
route=$(ip -4 route show default | head -n 1)
[ -n "$route" ] || route=$(ip -6 route show default | head -n 1)
card=$(printf '%s' "$route" | sed -n 's/.* dev \\([^ ]*\\).*/\\1/p')
[ -z "$card" ] || printf 'mac %s\\n' "$(cat "/sys/class/net/$card/address")"
printf 'gateway %s\\n' "$(ip -4 route show default | sed -n '1s/.* via \\([^ ]*\\).*/\\1/p')"
if [ -d /sys/firmware/efi ]; then echo 'firmware uefi'; else echo 'firmware bios'; fi
`;

/** File systems that exist only in RAM. NFS and ZFS have no block device either, but are not among them. */
const ramFileSystems = new Set(['tmpfs', 'ramfs', 'rootfs', 'overlay', 'aufs']);

export function parseRescueIdentity(text: string): RescueIdentity {
  const lines = parseLabels(text);
  const [rootType, bootId, uptime] = [
    labeledValue(lines, 'type'),
    labeledValue(lines, 'boot'),
    labeledValue(lines, 'uptime'),
  ];
  if (rootType === '' || bootId === '' || !/^\d+(\.\d+)?$/.test(uptime)) {
    throw new HetznerRobotError('RESCUE_COMMAND_FAILED', 'identify: the output is incomplete.');
  }
  return {
    hostname: labeledValue(lines, 'hostname'),
    rootDevice: ramFileSystems.has(rootType) ? '' : labeledValue(lines, 'root') || rootType,
    rootType,
    motdIsRescue: labeledValue(lines, 'motd') === 'rescue',
    bootId,
    uptimeSeconds: Number(uptime),
    mac: labeledValue(lines, 'mac').toLowerCase(),
    gateway: labeledValue(lines, 'gateway'),
    firmware: labeledValue(lines, 'firmware') === 'uefi' ? 'uefi' : 'bios',
  };
}

/**
 * Why this is not the expected rescue system, as a sentence; undefined: it is. Three independent proofs: its host name,
 * its root in RAM, and its greeting. An installed system can have our key, the host name and the provider's files, but
 * not all three proofs. `/etc/hetzner-build` proves nothing, because installed systems have it, too.
 */
export function rescueMismatch(identity: RescueIdentity, expected: ExpectedRescue): string | undefined {
  const { hostname, rootDevice, motdIsRescue, bootId, uptimeSeconds, mac } = identity;
  if (hostname !== 'rescue') return `Its host name is ${hostname.slice(0, 64) || 'empty'}, not rescue.`;
  if (rootDevice !== '')
    return `Its root file system is on ${rootDevice.slice(0, 64)}, not in RAM: it is an installed system.`;
  if (!motdIsRescue) return 'Its message of the day is not the one of the Hetzner rescue system.';
  if (expected.mac !== undefined && mac !== expected.mac.toLowerCase())
    return `Its network card is ${mac || 'unknown'}, not ${expected.mac}: it is another machine.`;
  if (expected.otherThanBootId !== undefined && bootId === expected.otherThanBootId)
    return 'It is still in the boot before the reset.';
  if (expected.maxUptimeSeconds !== undefined && uptimeSeconds > expected.maxUptimeSeconds)
    return `Its uptime is ${Math.round(uptimeSeconds)} s, longer than the time since the reset.`;
  return undefined;
}
