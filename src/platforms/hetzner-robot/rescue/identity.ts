import { ProviderError } from '../../../lib/errors.ts';
import { labeledValue, parseLabels } from './parse-labels.ts';
import { shellEnvironment } from './scripts/common.ts';

/** Who answers. */
export interface RescueIdentity {
  readonly hostname: string;
  /** What `/` lies on, e.g. `/dev/nvme0n1p3`; empty: it is in RAM. */
  readonly rootDevice: string;
  /** File system of `/`. */
  readonly rootType: string;
  readonly motdIsRescue: boolean;
  /** Another one at every boot. */
  readonly bootId: string;
  readonly uptimeSeconds: number;
  /** Of the card that the default route leads through; lower case, with colons. */
  readonly mac: string;
  /** Where the default route leads, IPv4; empty: there is none. */
  readonly gateway: string;
  readonly firmware: 'uefi' | 'bios';
}

/** What a caller knows of the system that should answer. */
export interface ExpectedRescue {
  readonly mac?: string;
  /** The boot before the reset: it must be another one by now. */
  readonly otherThanBootId?: string;
  /** It cannot run for longer than since the reset. */
  readonly mostUptimeSeconds?: number;
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

/** File systems that are nowhere but in RAM. NFS and ZFS have no device of their own, and are none of them. */
const ramFileSystems = new Set(['tmpfs', 'ramfs', 'rootfs', 'overlay', 'aufs']);

export function parseRescueIdentity(text: string): RescueIdentity {
  const lines = parseLabels(text);
  const [rootType, bootId, uptime] = [
    labeledValue(lines, 'type'),
    labeledValue(lines, 'boot'),
    labeledValue(lines, 'uptime'),
  ];
  if (rootType === '' || bootId === '' || !/^\d+(\.\d+)?$/.test(uptime)) {
    throw new ProviderError('RESCUE_COMMAND_FAILED', 'identify: it does not say what it is.');
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
 * Why this is not the rescue system that was waited for, in a sentence; undefined: it is. Three proofs that do not depend on each
 * other: its name, that it lies in RAM, and its greeting; an installed system can have our key, the name, and the provider's
 * files, but not all three. `/etc/hetzner-build` is no proof: installed systems carry it, too.
 */
export function rescueMismatch(identity: RescueIdentity, expected: ExpectedRescue): string | undefined {
  const { hostname, rootDevice, motdIsRescue, bootId, uptimeSeconds, mac } = identity;
  if (hostname !== 'rescue') return `It calls itself ${hostname.slice(0, 64) || 'nothing'}, not rescue.`;
  if (rootDevice !== '') return `Its root lies on ${rootDevice.slice(0, 64)}, not in RAM: it is an installed system.`;
  if (!motdIsRescue) return 'It does not greet as the Hetzner rescue system.';
  if (expected.mac !== undefined && mac !== expected.mac.toLowerCase())
    return `Its network card is ${mac || 'unknown'}, not ${expected.mac}: it is another machine.`;
  if (expected.otherThanBootId !== undefined && bootId === expected.otherThanBootId)
    return 'It is still the boot from before the reset.';
  if (expected.mostUptimeSeconds !== undefined && uptimeSeconds > expected.mostUptimeSeconds)
    return `It has been up for ${Math.round(uptimeSeconds)} s, longer than since the reset.`;
  return undefined;
}
